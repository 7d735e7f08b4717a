/**
 * Sends a command for a caller, and builds what commands need of an account of the upstream. The command is passed on
 * once, and the operations that it started are recorded at once, wherever they stand in its answer. Of a locked project
 * it says which operations hold the lock.
 */

import type { ApiAccount } from '../config/api-config.ts';
import type { EventBus } from '../events/event-bus.ts';
import { type RecordCommandDeps, recordCommand } from '../protocol/record-command.ts';
import type { Operation, OperationRecord } from '../records/operation-record.ts';
import type { Clock } from '../runtime/clock.ts';
import { AppError, toError } from '../runtime/errors.ts';
import { parseJson } from '../runtime/foreign-text.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import { createBridgeStore } from '../store/bridge-store.ts';
import { createLedgerStore } from '../store/ledger-store.ts';
import type { Table } from '../store/table.ts';
import type { NoteUnreadable } from '../store/unreadable.ts';
import { operationSchema, parseRows, projectIdSchema } from '../upstream/calls/schemas.ts';
import {
  type CallDeps,
  type CommandRequest,
  type ForwardedAnswer,
  forwardCall,
  namedProjectOf,
  type Waiting,
} from '../upstream/forward.ts';
import { type SendHttp, sendByFetch, sendByKind } from '../upstream/pooled-http.ts';
import { type KeySource, shareRefresh } from '../upstream/send-with-key.ts';
import { createUpstreamClient } from '../upstream/upstream-client.ts';
import { createFairShare, type FairShare } from './fair-share.ts';
import type { Sent } from './send-once.ts';

interface OpenWorkFinder {
  /**
   * Finds what is open or unpublished of a project, in an index that can lag. `operationId` is undefined for an item
   * that is no operation.
   */
  findWork(projectId: string): Promise<readonly { readonly operationId: string | undefined }[]>;
}

interface LockReaders {
  readonly work: OpenWorkFinder;
  readonly recording: Pick<RecordCommandDeps, 'store'>;
}

/** The upstream answers 423 while an operation is in one of these statuses (docs/upstream.md, "Lock"). */
export const LOCKING_STATUSES: readonly string[] = ['scheduling', 'running', 'cancelling'];

/** A check of availability runs beside everything else. */
const LOCKS_NOTHING: ReadonlySet<string> = new Set(['check_availability']);

/** A failed operation holds no lock, although it may be retried. */
export function holdsLock({
  status,
  action,
  watch_ended,
}: Pick<OperationRecord, 'status' | 'action' | 'watch_ended'>): boolean {
  return LOCKING_STATUSES.includes(status) && !LOCKS_NOTHING.has(action) && !watch_ended;
}

/**
 * `knownIds` names operations that were recorded a moment ago, which the index may not show yet. Rejects when the table
 * refuses.
 */
export async function findLockHolders(
  { work, recording }: LockReaders,
  projectId: string,
  knownIds: readonly string[] = [],
): Promise<readonly string[]> {
  const found = await work.findWork(projectId);
  const ids = new Set([...knownIds, ...found.flatMap(({ operationId }) => operationId ?? [])]);
  if (ids.size === 0) return [];
  const { records } = await recording.store.readOperations(projectId, [...ids]);
  return [...records.values()].filter(holdsLock).map(({ operation_id }) => operation_id);
}

interface FoundOperations {
  /** A command can start operations of several projects, so they stand under the ids of these. */
  readonly byProject: ReadonlyMap<string, readonly Operation[]>;
  /** The command belongs to the project of its path or body, or else to the one that its answer describes. */
  readonly projectId: string | undefined;
}

/** The deepest operation of the public API stands on the second level. */
const DEPTH_MAX = 10;

/** Rows are looked for under these names, which the public API uses for nothing else but operations. */
const NAMES: ReadonlySet<string> = new Set(['operation', 'operations']);

/** `requested` is the project of the command's path or body. A row that cannot be read is left to the poller. */
export function operationsInAnswer(
  { body }: ForwardedAnswer,
  requested: string | undefined,
): FoundOperations {
  const parsed = parseJson(new TextDecoder().decode(body));
  const own = requested ?? describedProject(parsed);
  const rows = rowsIn(parsed, 0).filter(isObject);
  const projectOf = (row: Row) => (typeof row['project_id'] === 'string' ? row['project_id'] : (own ?? ''));
  const byProject = new Map<string, readonly Operation[]>();
  for (const [id, ofProject] of Map.groupBy(rows, projectOf)) {
    if (!projectIdSchema.safeParse(id).success) continue;
    const operations = parseRows(ofProject, operationSchema(id)).rows;
    if (operations.length > 0) byProject.set(id, distinct(operations));
  }
  return { byProject, projectId: own };
}

type Row = Readonly<Record<string, unknown>>;

function rowsIn(value: unknown, depth: number): readonly unknown[] {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    NAMES.has(name) && !Array.isArray(value) ? [each].flat() : rowsIn(each, depth + 1),
  );
}

/** The answer to the creation of a project describes it under `project`. */
function describedProject(answer: unknown): string | undefined {
  const project = isObject(answer) ? answer['project'] : undefined;
  return isObject(project) ? projectIdSchema.safeParse(project['id']).data : undefined;
}

function distinct(operations: readonly Operation[]): readonly Operation[] {
  return [...new Map(operations.map((each) => [each.id, each])).values()];
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface RecordStartedDeps {
  readonly recording: RecordCommandDeps;
  readonly telemetry: Telemetry;
}

/** The caller gets the answer after this time at the latest; what is not recorded by then is found by the poller. */
export const RECORD_MS_MAX = 5_000;

interface Started {
  /** The ids are known at once, from the answer. */
  readonly operationIds: readonly string[];
  /** Settles when the command is recorded, or after `RECORD_MS_MAX`. It never rejects. */
  readonly recorded: Promise<void>;
}

/**
 * Begins to record the operations. When recording fails, the answer to the command is right all the same, and the
 * poller finds the operations later. A command without operations is recorded, too, if it belongs to a project: it has
 * come to its end, which is published.
 */
function recordStarted(deps: RecordStartedDeps, request: CommandRequest, answer: ForwardedAnswer): Started {
  const found = operationsInAnswer(answer, namedProjectOf(request));
  const operationIds = [...found.byProject.values()].flat().map(({ id }) => id);
  return { operationIds, recorded: record(deps, request, found) };
}

async function record(
  { recording, telemetry }: RecordStartedDeps,
  { requestId, caller, target, traceparent }: CommandRequest,
  { byProject, projectId }: FoundOperations,
): Promise<void> {
  const named = { request_id: requestId, client_id: caller.client_id, call: target.id };
  const sent = { ...named, ...(traceparent !== undefined && { traceparent }) };
  const operationsOf = new Map(projectId === undefined ? byProject : [[projectId, []], ...byProject]);
  const recorded = [...operationsOf].map(([project_id, operations]) =>
    recordCommand(recording, { project_id, ...sent }, operations),
  );
  try {
    await within(Promise.all(recorded), RECORD_MS_MAX, recording.clock);
  } catch (error) {
    const reason = error instanceof AppError ? error.code : toError(error).name;
    telemetry.log('error', 'command.not_recorded', { request_id: requestId, reason });
  }
}

async function within(task: Promise<unknown>, durationMs: number, clock: Clock): Promise<void> {
  const waiting = new AbortController();
  const late = clock.sleep(durationMs, waiting.signal).then(() => {
    throw new AppError('took_too_long', `Recording takes more than ${durationMs} ms`);
  });
  // The one that loses the race must not become an unhandled rejection.
  task.catch(() => {});
  late.catch(() => {});
  await Promise.race([task, late]).finally(() => waiting.abort());
}

/** This is one account of the upstream as commands reach it. */
export interface CommandAccount {
  readonly upstream: CallDeps;
  /** This finder knows the operations that may hold the lock of a project. */
  readonly work: OpenWorkFinder;
  /** These dependencies record the operations that a command started, and publish them. */
  readonly recording: RecordCommandDeps;
}

/** A refusal names at most this number of operations that hold the lock. A project has a few at a time. */
const LOCK_HOLDERS_MAX = 20;

/**
 * Everything that can become of a command is an outcome, so that a caller on HTTP and a worker on a queue can each do
 * their own with it. Rejects only when a secret cannot be read. The caller makes sure that the command is sent once.
 */
export async function sendUnkeyed(
  telemetry: Telemetry,
  { upstream, work, recording }: CommandAccount,
  request: CommandRequest,
  waiting: Waiting,
): Promise<Sent> {
  const result = await forwardCall({ upstream, telemetry }, request, waiting);
  if (result.kind === 'unanswered') return result;
  const { status } = result.answer;
  if (status === 423) return { ...result, lockedBy: await lockHolders({ work, recording }, request) };
  if (status >= 300) return result;
  return { ...result, ...recordStarted({ recording, telemetry }, request, result.answer) };
}

/**
 * Returns the ids of the operations that hold the project, as far as the bridge knows them. It returns none when the
 * table does not answer.
 */
async function lockHolders(readers: LockReaders, { ids }: CommandRequest): Promise<readonly string[]> {
  const projectId = ids['project_id'];
  if (projectId === undefined) return [];
  const holders = await findLockHolders(readers, projectId).catch(() => []);
  return holders.slice(0, LOCK_HOLDERS_MAX);
}

export interface AccountPorts {
  readonly table: Table;
  readonly bus: EventBus;
  readonly keyOf: (account: ApiAccount) => KeySource;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  readonly random: Random;
  /** At most this many instances of all functions send commands at once. */
  readonly instancesMax: number;
  readonly fetch?: typeof fetch;
  /** Sends what is read of the upstream. The default is `fetch`, which sends everything else. */
  readonly sendRead?: SendHttp;
}

export interface SharedAccount extends CommandAccount {
  readonly fairShare: FairShare;
}

/** Builds what commands need of the account. */
export function upstreamAccount(
  settings: ApiAccount,
  ports: AccountPorts,
  noteUnreadable: NoteUnreadable,
): SharedAccount {
  const { account_id, upstream_base_url: baseUrl } = settings;
  const { table, bus, keyOf, telemetry, clock, random } = ports;
  const fairShare = fairShareOf(settings, ports, noteUnreadable);
  const upstream = {
    base: new URL(baseUrl),
    apiKey: shareRefresh(keyOf(settings)),
    clock,
    random,
    budget: fairShare.budget,
    ...(ports.fetch && { fetch: ports.fetch }),
    ...(ports.sendRead && { send: sendByKind(ports.sendRead, sendByFetch(ports.fetch)) }),
  };
  const store = createBridgeStore(table, account_id, clock, noteUnreadable);
  const recording = {
    bus,
    store,
    upstream: createUpstreamClient({ ...upstream, baseUrl }),
    telemetry,
    clock,
    settleWithinMs: settings.settle_within_seconds * 1_000,
  };
  return { upstream, fairShare, work: store, recording };
}

function fairShareOf(account: ApiAccount, ports: AccountPorts, noteUnreadable: NoteUnreadable): FairShare {
  return createFairShare({
    ...ports,
    store: createLedgerStore(ports.table, account.account_id, noteUnreadable),
    rate: {
      pollerRequestsPerMinute: account.poller_requests_per_minute,
      commandRequestsPerMinute: account.requests_per_minute,
      limitRequestsPerMinute: account.limit_requests_per_minute,
    },
    requestsPerSecond: account.requests_per_second,
    callerRequestsPerMinute: account.caller_requests_per_minute,
  });
}
