/**
 * Lets an operator ask a deployed function to try the calls of its role one by one, because what a role allows can only
 * be tried by the function itself.
 */

import * as z from 'zod';
import type { Clock } from '../runtime/clock.ts';
import { AppError, toError } from '../runtime/errors.ts';

/** One call to AWS that the function's role has to allow. */
export interface Probe {
  /** The name that IAM gives the action, and what it is tried on: `dynamodb:GetItem on TOKEN#*`. */
  readonly call: string;
  readonly attempt: () => Promise<unknown>;
}

const probeResult = z.object({
  call: z.string(),
  outcome: z.enum(['allowed', 'denied', 'failed']),
  /** AWS's own words for a call that it denied, and the name of any other error. */
  reason: z.string().optional(),
});

type ProbeResult = z.output<typeof probeResult>;

/** What a function makes of an account: `fault` says why it refuses to serve it. */
const servedAccount = z.object({
  account_id: z.string(),
  origin: z.enum(['configured', 'added']),
  state: z.enum(['active', 'paused', 'refused']),
  fault: z.string().optional(),
});

/** What a function answers. `untried` has calls that would reach subscribers or people. */
export const selfTestReport = z.object({
  self_test: z.string(),
  results: z.array(probeResult),
  untried: z.array(z.string()),
  /** Every account that the function knows. It is absent when the function serves no accounts, or could not read them. */
  accounts: z.array(servedAccount).optional(),
});

export type SelfTestReport = z.output<typeof selfTestReport>;

export interface SelfTestPorts {
  readonly clock: Clock;
  readonly newId: () => string;
}

/** What a function tries, under its name. */
export interface SelfTest {
  readonly name: string;
  readonly probes: readonly Probe[];
  readonly untried: readonly string[];
  /** Reads the accounts that the function knows. A function that serves none has no such question. */
  readonly accounts?: () => Promise<SelfTestReport['accounts']>;
}

/**
 * Only who may invoke the function directly (`lambda:InvokeFunction`) can send this: a request, a message or an event
 * comes within an envelope of AWS.
 */
export function isSelfTestRequest(event: unknown): boolean {
  const { success, data } = z.looseObject({ self_test: z.literal(true) }).safeParse(event);
  return success && !ENVELOPE_FIELDS.some((name) => name in data);
}

/** An HTTP API, a queue and a bus send their content beside these fields. */
const ENVELOPE_FIELDS = ['requestContext', 'Records', 'detail-type'];

/** Answers self-tests itself and hands every other event on. */
export function answeringSelfTests<Event, Rest extends readonly unknown[], Answer>(
  handle: (event: Event, ...rest: Rest) => Answer,
  selfTestOf: (event: unknown) => SelfTest | Promise<SelfTest>,
): (event: Event, ...rest: Rest) => Answer | Promise<SelfTestReport> {
  const test = async (event: Event) => runSelfTest(await selfTestOf(event));
  return (event, ...rest) => (isSelfTestRequest(event) ? test(event) : handle(event, ...rest));
}

/** Never rejects because of what it finds. */
export async function runSelfTest({ name, probes, untried, accounts }: SelfTest): Promise<SelfTestReport> {
  const [results, known] = await Promise.all([Promise.all(probes.map(resultOf)), accounts?.()]);
  return { self_test: name, results, untried: [...untried], ...(known && { accounts: known }) };
}

async function resultOf({ call, attempt }: Probe): Promise<ProbeResult> {
  try {
    await attempt();
    return { call, outcome: 'allowed' };
  } catch (error) {
    return { call, ...failureOf(toError(error)) };
  }
}

/** SQS and SNS have names of their own for a denied call. */
const DENIED = /AccessDenied|NotAuthorized|AuthorizationError|UnauthorizedOperation/;

/** An error of AWS can quote what was sent, so only a denial and the bridge's own errors are quoted. */
function failureOf(error: Error): Omit<ProbeResult, 'call'> {
  const code = error instanceof AppError ? error.code : error.name;
  const isDenied = DENIED.test(code);
  const isQuoted = isDenied || error instanceof AppError;
  const reason = isQuoted ? `${code}: ${error.message}` : code;
  return { outcome: isDenied ? 'denied' : 'failed', reason: reason.slice(0, REASON_LENGTH_MAX) };
}

/** The longest denial of AWS names two ARNs. */
const REASON_LENGTH_MAX = 600;
