/**
 * Examines what only a deployment on AWS has: functions, each of which is asked to try the calls that its role has to
 * allow, the schedules that invoke them, and the topic of the alarms. Its clients are of AWS itself or of the local
 * AWS of a run.
 */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import {
  GetScheduleCommand,
  ListSchedulesCommand,
  SchedulerClient,
  type ScheduleSummary,
} from '@aws-sdk/client-scheduler';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import * as z from 'zod';
import { parseJson } from '../../../shared/runtime/foreign-text.ts';
import { type SelfTestReport, selfTestReport } from '../../../shared/runtime/self-test.ts';
import type { LocalRun } from '../connection.ts';
import { type AwsClients, examineTopic, guarded } from './examine-aws.ts';
import { type Finding, notChecked, ok, problem } from './examine-bridge.ts';

interface DeploymentClients {
  readonly lambda: Pick<LambdaClient, 'send'>;
  readonly scheduler: Pick<SchedulerClient, 'send'>;
  readonly sns: Pick<SNSClient, 'send'>;
}

/** Each account takes a second. Those behind the bound are named as not checked. */
const ACCOUNTS_MAX = 50;

/** `name` is that of the bridge in its configuration. Never rejects because of what it finds. */
export async function examineDeployment(
  { lambda, scheduler, sns }: DeploymentClients,
  name: string,
): Promise<readonly Finding[]> {
  const { findings, pollPayloads, functionArn } = await examineSchedules(scheduler, name);
  const all = [...findings];
  const reports: SelfTestReport[] = [];
  for (const test of testsOf(name, [...pollPayloads])) {
    const { findings: ofFunction, report } = await examineFunction(lambda, test);
    all.push(...ofFunction);
    if (report !== undefined) reports.push(report);
  }
  all.push(...judgeServedAccounts(reports));
  if (pollPayloads.size > ACCOUNTS_MAX)
    all.push(
      notChecked(
        'function poller',
        `${pollPayloads.size - ACCOUNTS_MAX} of ${pollPayloads.size} accounts were left out.`,
        `Look at their health: doctor tries the poller for ${ACCOUNTS_MAX} accounts.`,
      ),
    );
  return [...all, await alarmsFinding(sns, name, functionArn)];
}

function testsOf(name: string, payloads: readonly (readonly [string, object])[]): readonly FunctionTest[] {
  const polls = payloads.slice(0, ACCOUNTS_MAX).map(([accountId, payload]) => ({
    functionName: `${name}-poller`,
    payload,
    subject: `poller, account ${accountId}`,
  }));
  const others = ['api', 'commands', 'notifier'].map((each) => ({
    functionName: `${name}-${each}`,
    payload: {},
    subject: each,
  }));
  const anyPoll =
    polls.length > 0 ? polls : [{ functionName: `${name}-poller`, payload: {}, subject: 'poller' }];
  return [...anyPoll, ...others];
}

/** The topic is in the region and the AWS account of the functions. */
async function alarmsFinding(
  sns: DeploymentClients['sns'],
  name: string,
  functionArn: string | undefined,
): Promise<Finding> {
  const [arn, partition, , region, account] = functionArn?.split(':') ?? [];
  if (account === undefined)
    return notChecked(
      'alarms',
      'The topic of the alarms is not known without the schedules.',
      'Use credentials that may list schedules, and check --name and the region.',
    );
  return examineTopic(sns, 'alarms', [arn, partition, 'sns', region, account, `${name}-alarms`].join(':'));
}

interface FunctionTest {
  readonly functionName: string;
  /** The payload beside `self_test`: an account that the function is to try. */
  readonly payload: object;
  /** What the finding is about, such as `poller, account main`. */
  readonly subject: string;
}

/** What the examination of a function has found, and what the function has reported. */
interface ExaminedFunction {
  readonly findings: readonly Finding[];
  readonly report?: SelfTestReport | undefined;
}

/** One finding for each call that failed, or one that says that none did. Never rejects because of what it finds. */
async function examineFunction(
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
  const { data } = selfTestReport.safeParse(parseJson(text));
  if (data !== undefined) return { findings: judgeReport(check, data), report: data };
  const advice = 'Deploy this version of the bridge, and try again.';
  return { findings: [notChecked(check, 'It does not know the self-test.', advice)] };
}

/**
 * Compares what the functions make of the accounts of the table: one that a function refuses, or that only another function
 * knows, is not served. The configured accounts are no part of it, because a poller is told of them with each invocation.
 */
function judgeServedAccounts(reports: readonly SelfTestReport[]): readonly Finding[] {
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
  const answer = parseJson(text);
  const isObject = typeof answer === 'object' && answer !== null && 'errorMessage' in answer;
  return isObject ? String(answer.errorMessage).slice(0, REASON_LENGTH_MAX) : 'it gave no reason';
}

/** Longer messages are stack traces. */
const REASON_LENGTH_MAX = 300;

interface ExaminedSchedules {
  readonly findings: readonly Finding[];
  /** What the schedules of the lanes say of each configured account, by its id. */
  readonly pollPayloads: ReadonlyMap<string, object>;
  /** The ARN of a function, from which those of the topics follow. */
  readonly functionArn: string | undefined;
}

/** A hundred lanes take one page, and each of them a question of its own. */
const PAGES_MAX = 10;

/** What runs once for the whole bridge. */
const SWEEPS = ['commands-sweep', 'alerts-sweep', 'canary'];

/** Never rejects because of what it finds. */
async function examineSchedules(
  scheduler: Pick<SchedulerClient, 'send'>,
  name: string,
): Promise<ExaminedSchedules> {
  const schedules = await guarded('schedules', () => listSchedules(scheduler, `${name}-`));
  if ('verdict' in schedules)
    return { findings: [schedules], pollPayloads: new Map(), functionArn: undefined };
  const polls = schedules.filter((schedule) => schedule.Name?.startsWith(`${name}-lane-`));
  const payloads = await Promise.all(polls.map((poll) => payloadOf(scheduler, poll)));
  return {
    findings: [...judgeSchedules(name, schedules, polls), ...payloads.filter(isFinding)],
    pollPayloads: new Map(payloads.flatMap((each) => (isFinding(each) ? [] : each))),
    functionArn: polls[0]?.Target?.Arn,
  };
}

async function listSchedules(
  scheduler: Pick<SchedulerClient, 'send'>,
  NamePrefix: string,
): Promise<readonly ScheduleSummary[]> {
  const found: ScheduleSummary[] = [];
  let NextToken: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await scheduler.send(new ListSchedulesCommand({ NamePrefix, NextToken }));
    found.push(...(answer.Schedules ?? []));
    NextToken = answer.NextToken;
    if (NextToken === undefined) return found;
  }
  throw new Error(`there are more than ${found.length} schedules`);
}

function judgeSchedules(
  name: string,
  all: readonly ScheduleSummary[],
  polls: readonly ScheduleSummary[],
): readonly Finding[] {
  const names = new Set(all.map((schedule) => schedule.Name));
  const missing = SWEEPS.map((sweep) => `${name}-${sweep}`).filter((each) => !names.has(each));
  const disabled = all.filter(({ State }) => State !== 'ENABLED').map((schedule) => schedule.Name ?? '');
  const findings = [
    ...(polls.length === 0
      ? [problem('schedules', `No schedule ${name}-lane-... invokes the poller.`, DEPLOY)]
      : []),
    ...missing.map((each) => problem('schedules', `The schedule ${each} does not exist.`, DEPLOY)),
    ...disabled.map((each) =>
      problem(
        'schedules',
        `The schedule ${each} is disabled.`,
        'Enable it (aws scheduler update-schedule --state ENABLED); a deployment leaves it as it is.',
      ),
    ),
  ];
  return findings.length > 0 ? findings : [ok('schedules', `All ${all.length} schedules are enabled.`)];
}

const DEPLOY = 'Deploy the stack, or check --name and the region.';

const lanePayload = z.looseObject({ accounts: z.array(z.looseObject({ account_id: z.string() })) });

/** Returns the settings of the accounts in the payload, with their ids. */
async function payloadOf(
  scheduler: Pick<SchedulerClient, 'send'>,
  { Name, GroupName }: ScheduleSummary,
): Promise<readonly AccountPayload[] | Finding> {
  const check = `schedule ${Name}`;
  return guarded(check, async () => {
    const { Target } = await scheduler.send(new GetScheduleCommand({ Name, GroupName }));
    const payload = lanePayload.safeParse(JSON.parse(Target?.Input ?? 'null')).data;
    if (payload === undefined)
      return notChecked(check, 'Its payload names no lane.', 'Deploy the stack again.');
    return payload.accounts.map((account) => [account.account_id, account] as const);
  });
}

type AccountPayload = readonly [string, object];

function isFinding(value: readonly AccountPayload[] | Finding): value is Finding {
  return 'verdict' in value;
}

/** The local AWS checks only the id of the access key. */
export function openAwsClients(run: LocalRun | undefined): AwsClients & DeploymentClients & Disposable {
  const settings =
    run === undefined
      ? {}
      : {
          endpoint: run.aws_endpoint,
          region: 'us-east-1',
          credentials: { accessKeyId: run.access_key_id, secretAccessKey: 'unused' },
        };
  const dynamoDb = new DynamoDBClient(settings);
  const eventBridge = new EventBridgeClient(settings);
  const secrets = new SecretsManagerClient(settings);
  const sns = new SNSClient(settings);
  const lambda = new LambdaClient(settings);
  const scheduler = new SchedulerClient(settings);
  return {
    dynamoDb,
    eventBridge,
    secrets,
    sns,
    lambda,
    scheduler,
    [Symbol.dispose]() {
      for (const client of [dynamoDb, eventBridge, secrets, sns, lambda, scheduler]) client.destroy();
    },
  };
}
