/**
 * Examines a running bridge through its API: the token, its health, its rate, whether commands go through, and which
 * accounts are late. A finding says what was checked, what was found, and what to do about it.
 */

import * as z from 'zod';
import { counted } from '../../../shared/runtime/counted.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { type AccountAnswer, createAccountsClient } from '../access/account-requests.ts';
import { type BridgeClient, BridgeRefusal } from '../bridge-client.ts';

export interface Finding {
  /** The part and the subject, such as `upstream key`. */
  readonly check: string;
  readonly verdict: 'ok' | 'problem' | 'not checked';
  /** A sentence that says what was found. */
  readonly found: string;
  /** A sentence that says what to do. Every finding that is not `ok` has one. */
  readonly advice?: string;
}

export function ok(check: string, found: string): Finding {
  return { check, verdict: 'ok', found };
}

export function problem(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'problem', found, advice };
}

export function notChecked(check: string, found: string, advice: string): Finding {
  return { check, verdict: 'not checked', found, advice };
}

const me = z.looseObject({
  client_id: z.string(),
  account_id: z.string(),
  scopes: z.array(z.string()),
  project_ids: z.array(z.string()).nullable(),
});

const health = z.looseObject({
  healthy: z.boolean(),
  reasons: z.array(z.string()),
  state: z.string().optional(),
  last_complete_walk_age_seconds: z.number().nullable().optional(),
});

type Standing = z.output<typeof health>;

const accounts = z.looseObject({
  accounts: z.array(
    z.looseObject({
      requests_per_minute: z.number().optional(),
      points: z
        .array(
          z.looseObject({
            duration_ms: z.number(),
            request_count: z.number(),
            throttled_count: z.number(),
            delay_p95_ms: z.number().optional(),
          }),
        )
        .optional(),
    }),
  ),
});

const subscriptions = z.looseObject({
  rules: z.array(
    z.looseObject({
      name: z.string(),
      verdict: z.string(),
      reasons: z.array(z.string()),
      advice: z.string().optional(),
    }),
  ),
  faults: z.array(z.string()),
});

const freeze = z.looseObject({ frozen: z.boolean(), reason: z.string().optional() });

/** Never rejects because of what it finds. It waits for the first report of a poller that has just started. */
export async function examineBridge(
  client: BridgeClient,
  surroundings: Surroundings,
): Promise<readonly Finding[]> {
  const get = (path: string) => ({ method: 'GET', path: `/bridge/v1${path}` });
  const caller = await tryTo(() => client.read(get('/me'), me));
  if (caller instanceof Error) return [judgeSilence(caller)];
  const standing = await readHealth(client, surroundings);
  // An administrator sees all accounts; every other caller sees the own one whatever the query says.
  const status = await tryTo(() => client.read(get(`/accounts?account_id=${caller.account_id}`), accounts));
  const frozen = await tryTo(() => client.read(get('/freeze'), freeze));
  return [
    judgeToken(caller),
    ...judgeHealth(standing),
    status instanceof Error ? lacking('rate', status) : judgeRate(status),
    frozen instanceof Error ? lacking('freeze', frozen) : judgeFreeze(frozen),
    ...(caller.scopes.includes('accounts:read') ? await examineAll(client, caller.account_id) : []),
    ...(caller.project_ids === null ? await examineSubscriptions(client) : []),
  ];
}

/** A schedule invokes the poller within a minute, and the poller reports ten seconds later. */
const FIRST_REPORT_MS_MAX = 75_000;

const ASK_AGAIN_MS = 2_000;

/** Returns undefined when the health cannot be read. */
async function readHealth(
  client: BridgeClient,
  { clock, signal, note }: Surroundings,
): Promise<Standing | undefined> {
  const read = async () => {
    const answer = await tryTo(() => client.send({ method: 'GET', path: '/bridge/v1/health' }));
    return answer instanceof Error ? undefined : health.safeParse(answer.json).data;
  };
  const untilMs = clock.now() + FIRST_REPORT_MS_MAX;
  let standing = await read();
  if (awaitsFirstReport(standing))
    note(`Waiting for the first report of the poller, for ${FIRST_REPORT_MS_MAX / 1_000} s at most ...`);
  while (awaitsFirstReport(standing) && clock.now() < untilMs) {
    await clock.sleep(ASK_AGAIN_MS, signal);
    standing = await read();
  }
  return standing;
}

const NOT_REPORTED_YET = /not reported yet/;

function awaitsFirstReport(standing: Standing | undefined): boolean {
  return standing?.reasons.some((reason) => NOT_REPORTED_YET.test(reason)) ?? false;
}

/** The bridge itself judges its rules, so that the console says the same. A caller who is limited to projects may not ask. */
async function examineSubscriptions(client: BridgeClient): Promise<readonly Finding[]> {
  const path = '/bridge/v1/subscriptions';
  const read = await tryTo(() => client.read({ method: 'GET', path }, subscriptions));
  if (read instanceof Error) return [lacking('subscriptions', read)];
  const unread = read.faults.map((fault) =>
    notChecked('subscriptions', fault, "Look at the role of the API's function (docs/security.md)."),
  );
  const found = read.rules.flatMap(({ name, reasons, advice }) =>
    advice === undefined ? [] : [problem(`subscription ${name}`, reasons.join(' '), advice)],
  );
  if (found.length + unread.length > 0) return [...unread, ...found];
  const count = read.rules.length;
  return [
    ok(
      'subscriptions',
      `None of ${count === 1 ? 'the one rule' : `${count} rules`} of the bus is in trouble.`,
    ),
  ];
}

/** Accounts and lanes are for administrators, so other tokens are not asked for more scopes. */
async function examineAll(client: BridgeClient, ownId: string): Promise<readonly Finding[]> {
  const served = await tryTo(async () => {
    const all: AccountAnswer[] = [];
    for await (const account of createAccountsClient(client).list()) all.push(account);
    return all;
  });
  return served instanceof Error ? [lacking('accounts', served)] : judgeAccounts(served, ownId);
}

/** A bridge that is silent, refuses or answers as no bridge does is something that was found. */
async function tryTo<Value>(read: () => Promise<Value>): Promise<Value | AppError> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function judgeSilence(error: AppError): Finding {
  if (error instanceof BridgeRefusal)
    return problem('bridge token', error.message, 'Create a token with "operations-bridge tokens create".');
  return problem('bridge', error.message, 'Check the address, and whether the stack is deployed.');
}

function lacking(check: string, error: Error): Finding {
  return notChecked(check, error.message, 'Use a token with operations:read.');
}

export function judgeToken({ client_id, scopes, project_ids }: z.output<typeof me>): Finding {
  const whose = `The token of ${client_id} has ${counted(scopes.length, 'scope')}`;
  if (scopes.includes('operations:read') && project_ids === null) return ok('bridge token', `${whose}.`);
  if (project_ids !== null)
    return problem(
      'bridge token',
      `${whose} and is limited to ${counted(project_ids.length, 'project')}, so this examination sees no other.`,
      'Use a token for the whole account.',
    );
  return problem('bridge token', `${whose}, without operations:read.`, 'Use a token with operations:read.');
}

/** Each reason is a finding of its own, because each needs another remedy. */
export function judgeHealth(standing: Standing | undefined): readonly Finding[] {
  if (standing === undefined)
    return [notChecked('health', 'The health cannot be read.', 'Look at the log of the API.')];
  if (standing.healthy && standing.state === 'paused')
    return [ok('health', 'An administrator has paused the account; no alert channel refuses its alerts.')];
  if (standing.healthy) {
    const isReading = standing.last_complete_walk_age_seconds === null;
    const events = isReading
      ? 'The poller has not read every project since it started, so events can be late'
      : 'Events are on time';
    return [ok('health', `${events}, and no alert channel refuses its alerts.`)];
  }
  return standing.reasons.map((reason) => problem('health', reason, remedyOf(reason)));
}

const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [NOT_REPORTED_YET, 'Look at the schedule of the poller and at its log.'],
  [/poller has been silent/, 'Look at the schedule of the poller and at its log.'],
  [
    /not read completely|not been read completely/,
    'Look at the key, at the rate limit, and at the named projects.',
  ],
  [/unpublished/, 'Look at the policy of the bus, and at PutEvents in the log of the poller.'],
  [/does not serve/, 'Look for account.not_served in the log of the poller, and at its schedules.'],
  [
    /deployment does not allow/,
    'Add the host to upstream_hosts and deploy, or change the account (docs/deploy/add-an-account.md).',
  ],
  [/^The channel/, 'Look at the channel that is named, and at its secret (docs/operations.md).'],
];

function remedyOf(reason: string): string {
  const remedy = REMEDIES.find(([pattern]) => pattern.test(reason))?.[1];
  return remedy ?? 'Look at the log of the poller (docs/operations.md).';
}

/**
 * Compares the accounts of the configuration and of the table with those that the poller reports on. The own account of
 * the token is left out, because the health says the same of it.
 */
export function judgeAccounts(all: readonly AccountAnswer[], ownId: string): readonly Finding[] {
  const found = all
    .filter(({ account_id, healthy, fault }) => account_id !== ownId && (fault ?? healthy === false))
    .flatMap(({ account_id, reasons = [] }) =>
      reasons.map((reason) => problem(`account ${account_id}`, reason, remedyOf(reason))),
    );
  if (found.length > 0) return found;
  const pausedCount = all.filter(({ state }) => state === 'paused').length;
  const paused = pausedCount === 0 ? '' : ` Paused: ${pausedCount}.`;
  return [ok('accounts', `The poller serves every active account (${all.length - pausedCount}).${paused}`)];
}

/** One refusal in a hundred is usual when other programs use the same account. */
const THROTTLED_SHARE_MAX = 0.01;

export function judgeRate({ accounts: [account] }: z.output<typeof accounts>): Finding {
  const points = account?.points ?? [];
  const sum = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((total, point) => total + of(point), 0);
  const minutes = sum(({ duration_ms }) => duration_ms) / 60_000;
  const [requests, throttled] = [
    sum(({ request_count }) => request_count),
    sum(({ throttled_count }) => throttled_count),
  ];
  if (minutes === 0 || account?.requests_per_minute === undefined)
    return notChecked('rate', 'The poller has not reported its requests yet.', 'Try again in two minutes.');
  const used = `The poller sends ${Math.round(requests / minutes)} of its ${account.requests_per_minute} requests a minute; ${throttled} of ${requests} were refused (429).`;
  if (throttled <= requests * THROTTLED_SHARE_MAX) return ok('rate', used);
  return problem('rate', used, 'Lower poller_requests_per_minute, or find out what else uses the account.');
}

export function judgeFreeze({ frozen, reason }: z.output<typeof freeze>): Finding {
  if (!frozen) return ok('freeze', 'Commands are not held.');
  return problem(
    'freeze',
    `All commands are held: ${reason ?? ''}`,
    'Lift it with "operations-bridge freeze off".',
  );
}
