/**
 * Publishes the health of an account: that its events will be late, that they are on time again, and that all its projects were
 * read for the first time, each once. A failure of one poll or of one call of the table is kept from ending the invocation.
 */

import {
  awaitsFirstSight,
  decideFirstSight,
  decideHealth,
} from '../../../../shared/records/account-record.ts';
import type { AccountTrouble } from '../../../../shared/records/account-status.ts';
import { isJournalFull } from '../../../../shared/records/journal.ts';
import type { DegradedReason } from '../../../../shared/records/journal-entries.ts';
import { isOpen } from '../../../../shared/records/operation-record.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { IndexPosition } from '../../../../shared/store/table.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import { isUpstreamError } from '../../../../shared/upstream/upstream-error.ts';
import type { InvocationDeps } from '../account-deps.ts';
import { UnreadableKeyError } from '../account-key.ts';
import { recordAndRelay } from '../relay-leftovers.ts';
import type { ProjectReadings } from './project-readings.ts';

/** Says how the upstream answers this account, as far as this process knows it. Each invocation begins with what the status says. */
export interface AccountHealth {
  /** The upstream last answered a request as it should at this time. It is undefined when it has not yet. */
  answeredAtMs: number | undefined;
  /** No poll has succeeded since this time. It is undefined when the last one did, or none was tried. */
  failingSinceMs: number | undefined;
  /** It is true when the upstream refuses the key and the secret holds no other one. Nothing is sent then. */
  isKeyRejected: boolean;
  /**
   * It is true when subscribers know that events of the account are late. Each invocation begins with what the
   * account's item says.
   */
  isDegraded: boolean;
}

export function unknownHealth(): AccountHealth {
  return { answeredAtMs: undefined, failingSinceMs: undefined, isKeyRejected: false, isDegraded: false };
}

/** Begins an invocation with what the account's item says. */
export async function readHealth({ store }: InvocationDeps, health: AccountHealth): Promise<void> {
  const account = await unlessUnreadable(store.readAccount());
  health.isDegraded = account?.degraded_reason !== undefined;
}

/** Describes an invocation that is about to end. */
export interface EndedInvocation {
  readonly pollCount: number;
  /** An invocation that is not frozen ends by this time, in ms since the epoch. */
  readonly overAtMs: number;
}

/**
 * Publishes the account's health at the end of an invocation. One that has polled nothing and met no trouble has
 * learned nothing about it, and neither has one that ends too late: its process was frozen, and other processes may have polled meanwhile.
 */
export async function publishHealthAtEnd(
  deps: InvocationDeps,
  health: AccountHealth,
  { pollCount, overAtMs }: EndedInvocation,
): Promise<void> {
  if (deps.clock.now() > overAtMs) return;
  const reason = degradedReason(deps, health);
  const isUndecided = pollCount === 0 && health.failingSinceMs === undefined;
  // The account's item says already that the account is well, as this invocation has read or written it.
  const isKnown = reason === undefined && !health.isDegraded;
  if (reason !== undefined || !(isUndecided || isKnown)) await publishHealth(deps, health, reason);
}

/** Stops all sending. Logs and publishes that once for each key that the upstream refuses. */
export async function publishRejectedKey(deps: InvocationDeps, health: AccountHealth): Promise<void> {
  if (health.isKeyRejected) return;
  health.isKeyRejected = true;
  deps.telemetry.log('error', 'key.rejected', {
    account_id: deps.store.accountId,
    advice: 'The upstream refused the key after a fresh read of the secret. Put a valid key into the secret.',
  });
  try {
    await publishHealth(deps, health, 'key_rejected');
  } catch (error) {
    // The end of the invocation publishes the health again, and the loop that met the refusal goes on.
    deps.telemetry.log('warn', 'health.not_published', { reason: toError(error).name });
  }
}

/** What a good answer of the project list shows: with no project to poll it is all that there is to read. */
export function shownByList({
  memories,
}: {
  readonly memories: ReadonlyMap<string, unknown>;
}): 'poll' | 'list' {
  return memories.size === 0 ? 'poll' : 'list';
}

/**
 * Publishes the recovery with the first good answer after trouble, so that subscribers need not wait for the end of the
 * invocation. Any good answer shows that the key is valid; only a poll that succeeded shows that operations can be read.
 */
export async function publishRecovery(
  deps: InvocationDeps,
  health: AccountHealth,
  answered: 'poll' | 'list',
): Promise<void> {
  if (answered === 'poll') markOperationsRead(health, deps.clock.now());
  else health.answeredAtMs = deps.clock.now();
  if (!health.isDegraded || degradedReason(deps, health) !== undefined) return;
  health.isDegraded = false;
  await publishHealth(deps, health, undefined).catch((error: unknown) => {
    // The next good answer publishes it again.
    health.isDegraded = true;
    throw error;
  });
}

export function markFailed(health: AccountHealth, nowMs: number): void {
  health.failingSinceMs ??= nowMs;
}

/** Notes that the account is not failing, whether or not what was read is published before the invocation ends. */
export function markOperationsRead(health: AccountHealth, nowMs: number): void {
  health.answeredAtMs = nowMs;
  health.failingSinceMs = undefined;
}

/** `reason` is undefined when the account is well. */
async function publishHealth(
  deps: InvocationDeps,
  health: AccountHealth,
  reason: DegradedReason | undefined,
): Promise<void> {
  const record = await unlessUnreadable(deps.store.readAccount());
  // A change that a full journal holds back is found again by the next invocation.
  if (record === undefined || isJournalFull(record)) return;
  // Polls that have failed for less than the limit do not end the outage that another process has published.
  const isFailing = reason === undefined && health.failingSinceMs !== undefined;
  const isOutage = isFailing && record.degraded_reason === 'upstream_failing';
  const next = isOutage ? undefined : decideHealth(record, reason, deps.clock.now());
  health.isDegraded = isOutage || reason !== undefined;
  const isRecorded = next === undefined || (await recordAndRelay(deps, next, record));
  // Another process has written the item, and the end of the invocation looks at it again.
  if (!isRecorded) health.isDegraded = true;
}

function degradedReason(
  { clock, limits }: InvocationDeps,
  health: AccountHealth,
): DegradedReason | undefined {
  if (health.isKeyRejected) return 'key_rejected';
  return failingMs(health, clock.now()) >= limits.failingMsMax ? 'upstream_failing' : undefined;
}

/** Says what stands in the way of all readings of the account at present. It is undefined when nothing does. */
export function troubleOf(deps: InvocationDeps, health: AccountHealth): AccountTrouble | undefined {
  return deps.key.isReadable() ? degradedReason(deps, health) : 'key_unreadable';
}

/** Returns for how many milliseconds no poll has succeeded, or 0 when the last one did. */
export function failingMs({ failingSinceMs }: AccountHealth, nowMs: number): number {
  return failingSinceMs === undefined ? 0 : nowMs - failingSinceMs;
}

/** A page of the index is read with two requests of a hundred items. */
const PAGE_KEYS = 200;

/** A person who reads "at least 2,000 operations" needs no larger number, and counting takes twenty reads. */
const COUNTED_MAX = 2_000;

/** A subscriber can wait this long for a number, and looking costs one read of the account's item. */
const LOOK_MS = 10_000;

/** Says what this process has read until now. */
export interface ReadSoFar {
  /** It is true when this process has read the project list, and as a whole, or has taken the projects of the configuration. */
  readonly areProjectsKnown: boolean;
  readonly visibleIds: readonly string[];
  readonly readings: Pick<ProjectReadings, 'completedAtMs'>;
}

/** Looks every ten seconds, and resolves to true when there is nothing to publish any more. */
export async function publishFirstSightRepeatedly(
  deps: InvocationDeps,
  readSoFar: () => ReadSoFar,
): Promise<boolean> {
  const { clock, signal, telemetry } = deps;
  while (!signal.aborted) {
    try {
      if (await publishFirstSight(deps, readSoFar())) return true;
    } catch (error) {
      telemetry.log('warn', 'first_sight.not_published', { reason: toError(error).name });
    }
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
  return false;
}

/**
 * Resolves to true when there is nothing to publish any more, so that a warm process need not ask again. A process that
 * starts cold waits until it has read every project itself.
 */
async function publishFirstSight(
  deps: InvocationDeps,
  { areProjectsKnown, visibleIds, readings }: ReadSoFar,
): Promise<boolean> {
  if (!areProjectsKnown) return false;
  const account = await unlessUnreadable(deps.store.readAccount());
  if (account === undefined || isJournalFull(account)) return false;
  const nowMs = deps.clock.now();
  if (!awaitsFirstSight(account, nowMs)) return true;
  if (!visibleIds.every((id) => readings.completedAtMs.has(id))) return false;
  const failing_count = await countFailing(deps);
  const counts = { project_count: visibleIds.length, failing_count };
  const next = decideFirstSight(account, counts, nowMs);
  return next === undefined || recordAndRelay(deps, next, account);
}

/** Counts the open operations that have failed, at most `COUNTED_MAX` of them. */
async function countFailing({ store }: InvocationDeps): Promise<number> {
  let count = 0;
  let start: IndexPosition | undefined;
  do {
    const { entries, next } = await store.findWorkPage({ limit: PAGE_KEYS, start });
    const keys = entries.filter(({ operationId }) => operationId !== undefined).map(({ key }) => key);
    const records = await store.readRecords(keys);
    count += records.filter(
      (record) => record.kind === 'operation' && isOpen(record) && record.status === 'failed',
    ).length;
    start = next;
  } while (start !== undefined && count < COUNTED_MAX);
  return Math.min(count, COUNTED_MAX);
}

const ADVICE_ON_UPSTREAM = 'It is tried again in its turn. If it lasts, check the upstream and the network.';

const ADVICE_ON_OTHERS =
  'It is tried again in its turn. If it lasts, check what the reason names: the table, the bus or a role of the function; any other reason is a fault of the bridge.';

/**
 * Runs a task, and limits its failure, of one poll or of one call of the table, to that task: the invocation goes on, and
 * the next turn comes.
 */
export async function surviveFailure(
  deps: InvocationDeps,
  health: AccountHealth,
  task: () => Promise<void>,
): Promise<void> {
  try {
    await task();
  } catch (error) {
    const kind = isUpstreamError(error) ? error.kind : undefined;
    if (kind === 'unauthorized') return publishRejectedKey(deps, health);
    if (kind === 'cancelled') return;
    const isKeyUnreadable = error instanceof UnreadableKeyError;
    if (kind !== undefined || isKeyUnreadable) markFailed(health, deps.clock.now());
    // The key itself has reported that, once and not for each poll.
    if (isKeyUnreadable) return;
    const { name, message } = toError(error);
    deps.telemetry.log('error', 'poll.failed', {
      account_id: deps.store.accountId,
      reason: name,
      detail: message,
      advice: kind === undefined ? ADVICE_ON_OTHERS : ADVICE_ON_UPSTREAM,
    });
  }
}
