/** Examines the deployed functions: each is asked to try the calls that its role has to allow. */

import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { type SelfTestReport, selfTestReport } from '../../../shared/self-test/self-test.ts';
import { guarded } from './aws-error.ts';
import { type Finding, notChecked, ok, problem } from './finding.ts';

export interface FunctionTest {
  readonly functionName: string;
  /** The payload beside `self_test`: an account that the function is to try. */
  readonly payload: object;
  /** What the finding is about, such as `poller, account main`. */
  readonly subject: string;
}

/** What the examination of a function has found, and what the function has reported. */
export interface ExaminedFunction {
  readonly findings: readonly Finding[];
  readonly report?: SelfTestReport | undefined;
}

/** One finding for each call that failed, or one that says that none did. Never rejects because of what it finds. */
export async function examineFunction(
  lambda: Pick<LambdaClient, 'send'>,
  { functionName, payload, subject }: FunctionTest,
): Promise<ExaminedFunction> {
  const check = `function ${subject}`;
  const examined = await guarded(check, async () => {
    const Payload = JSON.stringify({ ...payload, self_test: true });
    const answer = await lambda.send(new InvokeCommand({ FunctionName: functionName, Payload }));
    const text = answer.Payload === undefined ? '' : Buffer.from(answer.Payload).toString();
    if (answer.FunctionError === undefined) return judgeAnswer(check, text);
    const failed = problem(check, `It failed: ${reasonIn(text)}.`, 'Look at its log and at its environment.');
    return { findings: [failed] };
  });
  return 'verdict' in examined ? { findings: [examined] } : examined;
}

function judgeAnswer(check: string, text: string): ExaminedFunction {
  const { data } = selfTestReport.safeParse(parsedJson(text));
  if (data !== undefined) return { findings: judgeReport(check, data), report: data };
  const advice = 'Deploy this version of the bridge, and try again.';
  return { findings: [notChecked(check, 'It does not know the self-test.', advice)] };
}

/**
 * Compares what the functions make of the accounts of the table: one that a function refuses, or that only another function
 * knows, is not served. The configured accounts are no part of it, because a poller is told of them with each invocation.
 */
export function judgeServedAccounts(reports: readonly SelfTestReport[]): readonly Finding[] {
  const faults = new Map<string, Map<string, string | undefined>>();
  for (const { self_test, accounts } of reports)
    if (accounts !== undefined) {
      const added = accounts.filter(({ origin }) => origin === 'added');
      faults.set(self_test, new Map(added.map(({ account_id, fault }) => [account_id, fault])));
    }
  const ids = new Set([...faults.values()].flatMap((known) => [...known.keys()]));
  return [...faults].flatMap(([name, known]) =>
    [...ids].toSorted().flatMap((id) => {
      const fault = known.has(id) ? known.get(id) : 'it does not know the account';
      if (fault === undefined) return [];
      return [problem(`function ${name}`, `It does not serve the account ${id}: ${fault}.`, NOT_SERVED)];
    }),
  );
}

const NOT_SERVED =
  'Deploy the stack again, with the host of the account in upstream_hosts (docs/deploy/add-an-account.md).';

/** Says which of the calls AWS denied, and what else went wrong. */
function judgeReport(check: string, { results, untried }: SelfTestReport): readonly Finding[] {
  const wrong = results.filter(({ outcome }) => outcome !== 'allowed');
  const beside = untried.length === 0 ? '' : ` Not tried: ${untried.join('; ')}.`;
  if (wrong.length === 0)
    return [ok(check, `All ${results.length} calls that it tried are allowed.${beside}`)];
  return wrong.map(({ call, outcome, reason = '' }) =>
    outcome === 'denied'
      ? problem(
          check,
          `AWS denies ${call} (${reason}).`,
          'Deploy the stack again. If it stays denied, look at the permissions boundary, the policies of the organization and those of the resource.',
        )
      : problem(check, `${call} failed (${reason}).`, adviceOn(call)),
  );
}

function adviceOn(call: string): string {
  if (call.startsWith('secretsmanager:'))
    return 'Check the ARN of the secret in the configuration, and put its value there (docs/deploy/deploy.md).';
  return 'Deploy the stack again; then look at the log of the function.';
}

function reasonIn(text: string): string {
  const answer = parsedJson(text);
  const isObject = typeof answer === 'object' && answer !== null && 'errorMessage' in answer;
  return isObject ? String(answer.errorMessage).slice(0, REASON_LENGTH_MAX) : 'it gave no reason';
}

/** Longer messages are stack traces. */
const REASON_LENGTH_MAX = 300;

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
