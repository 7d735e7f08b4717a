/**
 * Lets an operator ask a deployed function to try the calls of its role one by one, because what a role allows can
 * only be tried by the role. None of the calls changes anything.
 */

import * as z from 'zod';
import { type ConfiguredAccount, mergeAccounts } from '../accounts/account-directory.ts';
import { createAccountReader } from '../accounts/account-store.ts';
import type { Wakes } from '../commands/wakes.ts';
import type { AccountRules } from '../config/account-rules.ts';
import type { EventBus } from '../events/event-bus.ts';
import { DETAIL_TYPES, TEST_EVENT_SOURCE } from '../events/event-names.ts';
import { PARTITIONS, SELF_TEST_ID, selfTestKey } from '../store/keys.ts';
import type { Index, Table, TableIndexes, TablePartitions } from '../store/table.ts';
import { type Access, KEY, type Partition } from '../store/table-access.ts';
import type { Clock } from './clock.ts';
import { AppError, toError } from './errors.ts';

/**
 * Tries each partition with an item that does not exist. A write has a condition that does not hold and names every
 * attribute that the role may write, so DynamoDB checks the permission of all of them and writes nothing.
 */
export function tableProbes(table: Table, { reads, readsMany, updates }: Access): readonly Probe[] {
  const partitionsOf = (attributes: object) => Object.keys(attributes) as Partition[];
  return [
    ...partitionsOf(reads).map((partition) => ({
      call: `dynamodb:GetItem on ${PARTITIONS[partition]}`,
      attempt: () => table.get(selfTestKey(partition)),
    })),
    ...readsMany.map((partition) => ({
      call: `dynamodb:BatchGetItem on ${PARTITIONS[partition]}`,
      attempt: () => table.getMany([selfTestKey(partition)]),
    })),
    ...partitionsOf(updates).map((partition) => ({
      call: `dynamodb:UpdateItem on ${PARTITIONS[partition]}`,
      attempt: () => table.update(refusedUpdate(partition, updates[partition] ?? [])),
    })),
  ];
}

function refusedUpdate(partition: Partition, attributes: readonly string[]) {
  const keyNames: readonly string[] = KEY;
  return {
    key: selfTestKey(partition),
    set: {},
    remove: attributes.filter((name) => !keyNames.includes(name)),
    condition: { kind: 'equals', name: 'pk', value: 'another key' },
  } as const;
}

/** Tries to read keys of the index. */
export function indexProbe(indexes: TableIndexes, index: Index, partition: string): Probe {
  return {
    call: `dynamodb:Query of ${partition} in the index ${index.name}`,
    attempt: () => indexes.query({ index, partition, limit: 1 }),
  };
}

/** Tries to read items of the partition. */
export function partitionProbe(partitions: TablePartitions, partition: string): Probe {
  return {
    call: `dynamodb:Query of ${partition} in the table`,
    attempt: () => partitions.readPartition({ partition }),
  };
}

/** Reads a secret and drops it. An empty secret is a failure. */
export function secretProbe(secretId: string, source: { refresh(): Promise<unknown> }): Probe {
  return { call: `secretsmanager:GetSecretValue of ${secretId}`, attempt: () => source.refresh() };
}

/** Publishes one event that only rules for test events get. */
export function publishProbe(bus: EventBus, nowMs: number, id: string): Probe {
  return {
    call: `events:PutEvents as ${TEST_EVENT_SOURCE}`,
    async attempt() {
      const [outcome] = await bus.publish([
        {
          source: TEST_EVENT_SOURCE,
          // The roles of the API and the worker may publish this type, among others.
          detailType: DETAIL_TYPES.command_settled,
          detail: JSON.stringify({ self_test: true, id }),
          time: new Date(nowMs).toISOString(),
        },
      ]);
      if (outcome?.kind !== 'accepted') throw refusal(outcome?.code ?? 'NoResult');
    },
  };
}

/** Sends one wake for an account that no bridge has, which the worker takes and drops. */
export function wakeProbe(wakes: Wakes, id: string): Probe {
  return {
    call: 'sqs:SendMessage to the queue of commands',
    attempt: () => wakes.send([{ account_id: SELF_TEST_ID, project_id: SELF_TEST_ID, id }]),
  };
}

/** Publishing as the bridge itself would reach every subscriber. */
export const UNTRIED_PUBLISH = 'events:PutEvents as operations-bridge';

function refusal(code: string): Error {
  return Object.assign(new Error('The bus did not accept the event.'), { name: code });
}

interface AccountsRead {
  readonly configured: readonly ConfiguredAccount[];
  readonly rules: AccountRules;
  readonly table: Table;
  readonly partitions: TablePartitions;
}

/** Resolves to undefined when the table does not answer, which the probe of its partition says already. */
export async function servedAccounts({
  configured,
  rules,
  table,
  partitions,
}: AccountsRead): Promise<SelfTestReport['accounts']> {
  const items = await createAccountReader(table, partitions)
    .list()
    .catch(() => undefined);
  if (items === undefined) return undefined;
  const merged = mergeAccounts<ConfiguredAccount>(configured, items, { rules, settingsOf: (added) => added });
  return [...merged].map(([account_id, { origin, state, fault }]) => ({
    account_id,
    origin,
    state,
    ...(fault !== undefined && { fault }),
  }));
}

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
