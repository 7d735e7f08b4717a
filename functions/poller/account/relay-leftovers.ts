/**
 * Publishes what a crash or an outage of the bus left unpublished, including events of projects that are not polled
 * any more, and ends the watch of what was open there. It takes a page of the work index at a time, beside the polls
 * and never before them.
 */

import { settleCommands } from '../../../shared/protocol/record-derived.ts';
import { type RelayReport, relayRecords } from '../../../shared/protocol/relay-records.ts';
import { isJournalFull, oldestFirst, oldestPendingMs } from '../../../shared/records/journal.ts';
import { isBehind, type JournalRecord } from '../../../shared/records/journal-record.ts';
import {
  decideWatchEnd,
  isOpen,
  type OperationRecord,
  statusAgeMs,
} from '../../../shared/records/operation-record.ts';
import { isGoneSince } from '../../../shared/records/project-record.ts';
import { DAY_MS } from '../../../shared/records/time.ts';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { WorkIndexPage } from '../../../shared/store/bridge-store.ts';
import type { IndexPosition } from '../../../shared/store/table.ts';
import type { PollPlanner } from '../planner/poll-planner.ts';
import type { InvocationDeps } from './account-deps.ts';

/**
 * One page has this many keys, which takes two reads of a hundred items, and twenty calls of the bus at the most
 * usual size.
 */
const PAGE_KEYS = 200;

/**
 * After a page of which nothing got through, each page has this many keys. Four calls of ten entries are enough to
 * see whether the bus is back, and no storm while it is not.
 */
const PROBE_KEYS = 40;

/**
 * At most this many events a second are published. An event costs half a millisecond of a whole core (`npm run
 * bench -- drain`), and 256 MB of Lambda have a seventh of one, so three fifths of it are left to the polls, and nearly a third with 144 MB. 100,000
 * events drain in a quarter of an hour.
 */
export const EVENTS_PER_SECOND_MAX = 110;

/** The relay pauses for this long after a page of which nothing got through. The pause doubles with each such page. */
const BACKOFF_MS_MIN = 1_000;
const BACKOFF_MS_MAX = 30_000;

/** The relay looks this often whether a poll has left events unpublished. */
const LOOK_MS = 1_000;

/**
 * What was open when its project went is watched for this much longer. A key may lose its permission for a project for a
 * while, and then everything goes on.
 */
const WATCHED_AFTER_LOSS_MS = DAY_MS;

/** This many watches are ended at once. */
const WATCHES_AT_ONCE = 8;

/** The invocation learns this from the relay of its leftovers. */
export interface LeftoverEvents {
  /** Takes the projects of one page of the index. It is called in the first pass only. */
  onProjects(projectIds: readonly string[]): Promise<void>;
  /** Says whether the project is polled, and not because it may come back. */
  isVisible(this: void, projectId: string): boolean;
  onPublished(eventCount: number): void;
}

/**
 * Runs until the invocation stops. The first pass goes over everything, and later passes follow when something was
 * left unpublished.
 */
export async function relayLeftovers(
  deps: InvocationDeps,
  leftovers: Leftovers,
  events: LeftoverEvents,
): Promise<void> {
  let backoffMs = 0;
  for (let passCount = 0; !deps.signal.aborted; ) {
    if (!leftovers.areExpected) {
      await pause(deps, LOOK_MS);
      continue;
    }
    await pause(deps, backoffMs);
    leftovers.areExpected = false;
    const publishedCount = await passOverIndex(deps, leftovers, events, passCount === 0).finally(() => {
      leftovers.areDraining = false;
    });
    passCount += 1;
    backoffMs = leftovers.areExpected ? nextBackoffMs(publishedCount > 0 ? 0 : backoffMs) : 0;
    if (!leftovers.areExpected) leftovers.oldestAtMs = undefined;
  }
}

/** Resolves to the number of entries that were published. */
async function passOverIndex(
  deps: InvocationDeps,
  leftovers: Leftovers,
  events: LeftoverEvents,
  isFirst: boolean,
): Promise<number> {
  const { telemetry, signal } = deps;
  let publishedCount = 0;
  let backoffMs = 0;
  let start: IndexPosition | undefined;
  do {
    const page = await findPage(deps, leftovers, start, backoffMs === 0 ? PAGE_KEYS : PROBE_KEYS);
    if (page === undefined) break;
    if (isFirst) await events.onProjects(projectIdsOf(page));
    const outcome = await relayPage(deps, leftovers, page, isFirst ? events : undefined);
    events.onPublished(outcome.publishedCount);
    publishedCount += outcome.publishedCount;
    if (outcome.hasFailed && backoffMs === 0)
      telemetry.log('warn', 'relay.backed_off', { reason: outcome.reason });
    backoffMs = outcome.hasFailed ? nextBackoffMs(backoffMs) : 0;
    leftovers.areDraining = outcome.publishedCount > 0;
    await pause(deps, Math.max(backoffMs, outcome.restMs));
    start = page.next;
  } while (start !== undefined && !signal.aborted);
  if (publishedCount > 0) telemetry.log('info', 'leftovers.relayed', { event_count: publishedCount });
  return publishedCount;
}

/** Resolves to undefined when the invocation stops, or when the index cannot be read and is left to the next pass. */
async function findPage(
  { store, telemetry, signal }: InvocationDeps,
  leftovers: Leftovers,
  start: IndexPosition | undefined,
  limit: number,
): Promise<WorkIndexPage | undefined> {
  if (signal.aborted) return undefined;
  try {
    return await store.findWorkPage({ limit, start });
  } catch (error) {
    telemetry.log('warn', 'relay.index_not_read', { reason: toError(error).name });
    leftovers.areExpected = true;
    return undefined;
  }
}

function projectIdsOf({ entries }: WorkIndexPage): readonly string[] {
  return [...new Set(entries.flatMap(({ projectId }) => projectId ?? []))];
}

interface PageOutcome {
  readonly publishedCount: number;
  /** It is true when events were due and none got through, or when the page could not be dealt with. */
  readonly hasFailed: boolean;
  readonly reason: string;
  /** The relay rests for this long, so that the rate stays within its bound. */
  readonly restMs: number;
}

const NOTHING_RELAYED: PageOutcome = { publishedCount: 0, hasFailed: false, reason: '', restMs: 0 };

/** Relays one page. A page that fails holds up no other, and the next pass meets it again. `events` are given in the first pass only. */
async function relayPage(
  deps: InvocationDeps,
  leftovers: Leftovers,
  page: WorkIndexPage,
  events: LeftoverEvents | undefined,
): Promise<PageOutcome> {
  const { clock, signal } = deps;
  const beganMs = clock.now();
  try {
    const records = await readPage(deps, page, events);
    const operations = records.filter((record) => record.kind === 'operation');
    const pending = oldestFirst(records.filter(isBehind));
    leftovers.oldestAtMs = oldestPendingMs(pending) ?? leftovers.oldestAtMs;
    if (signal.aborted) return NOTHING_RELAYED;
    const relay = await relayRecords(deps, pending, signal, operations);
    deps.telemetry.measure('EventsPublished', relay.publishedCount);
    if (relay.unpublishedCount + relay.underivedCount > 0) leftovers.areExpected = true;
    return outcomeOf(relay, clock.now() - beganMs);
  } catch (error) {
    leftovers.areExpected = true;
    return { ...NOTHING_RELAYED, hasFailed: true, reason: toError(error).name };
  }
}

/** Reads the records of the page. Commands that have ended are settled first, and what nothing reads any more is no longer watched. */
async function readPage(
  deps: InvocationDeps,
  { entries }: WorkIndexPage,
  events: LeftoverEvents | undefined,
): Promise<readonly JournalRecord[]> {
  const read = await deps.store.readRecords(entries.map(({ key }) => key));
  const records = events === undefined ? read : await endWatches(deps, read, events);
  if (events !== undefined) askAtOnce(deps.planner, records);
  const commands = records.filter((record) => record.kind === 'command');
  const settled = await settleCommands(deps, commands, undefined, deps.signal);
  return [...records, ...settled];
}

/** Returns the records as they are then. One that another process changes meanwhile stays as it is until the next invocation. */
async function endWatches(
  { store, clock, signal }: InvocationDeps,
  records: readonly JournalRecord[],
  { isVisible }: LeftoverEvents,
): Promise<readonly JournalRecord[]> {
  const nowMs = clock.now();
  const left = records
    .filter((record) => record.kind === 'operation')
    .filter((each) => isOpen(each) && !isJournalFull(each) && !isVisible(each.project_id))
    .filter((each) => statusAgeMs(each, nowMs) >= WATCHED_AFTER_LOSS_MS);
  if (left.length === 0) return records;
  const projects = await store.readProjects([...new Set(left.map(({ project_id }) => project_id))]);
  const ended = new Map<JournalRecord, JournalRecord>();
  const endWatch = async (record: OperationRecord) => {
    const project = projects.get(record.project_id);
    if (project === undefined || project === 'unreadable') return;
    if (!isGoneSince(project, nowMs - WATCHED_AFTER_LOSS_MS)) return;
    const next = decideWatchEnd(record, { reason: 'project_gone', nowMs });
    if ((await store.record(next, record.revision)) === 'recorded') ended.set(record, next);
  };
  await forEachConcurrently(left, WATCHES_AT_ONCE, endWatch, signal);
  return records.map((record) => ended.get(record) ?? record);
}

function outcomeOf(
  { publishedCount, parkedCount, unpublishedCount }: RelayReport,
  tookMs: number,
): PageOutcome {
  const handledCount = publishedCount + parkedCount;
  const dueMs = (1_000 * (handledCount + unpublishedCount)) / EVENTS_PER_SECOND_MAX;
  return {
    publishedCount,
    hasFailed: handledCount === 0 && unpublishedCount > 0,
    reason: 'the bus took nothing',
    restMs: Math.max(0, dueMs - tookMs),
  };
}

/** A transition is to be expected where an operation or a command is open. */
function askAtOnce(planner: PollPlanner, records: readonly JournalRecord[]): void {
  for (const record of records) {
    const isHot =
      (record.kind === 'operation' && isOpen(record)) || (record.kind === 'command' && !record.is_settled);
    if (isHot) planner.askAtOnce(record.project_id);
  }
}

function nextBackoffMs(beforeMs: number): number {
  return Math.min(BACKOFF_MS_MAX, Math.max(BACKOFF_MS_MIN, 2 * beforeMs));
}

async function pause({ clock, signal }: InvocationDeps, durationMs: number): Promise<void> {
  if (durationMs > 0) await clock.sleep(durationMs, signal).catch(() => {});
}

export interface Leftovers {
  /** It is true when an unpublished event was seen since the last pass over the index began. */
  areExpected: boolean;
  /**
   * It is true until the first page of the index was dealt with, and while a pass goes on whose last page made progress. The invocation is
   * needed then.
   */
  areDraining: boolean;
  /**
   * The oldest entry that the last page held was recorded at this time. It is undefined when no entry is known to be
   * unpublished.
   */
  oldestAtMs: number | undefined;
}

/** Returns the state at the beginning of an invocation: an earlier one may have left anything behind. */
export function leftoversAtStart(): Leftovers {
  return { areExpected: true, areDraining: true, oldestAtMs: undefined };
}

/**
 * Resolves to false when another process has changed the item since `before` was read. Then nothing is written and
 * nothing is published. `before` is undefined when there was no item.
 */
export async function recordAndRelay(
  deps: InvocationDeps,
  next: JournalRecord,
  before: JournalRecord | undefined,
): Promise<boolean> {
  if ((await deps.store.record(next, before?.revision)) !== 'recorded') return false;
  await relayRecords(deps, [next]);
  return true;
}
