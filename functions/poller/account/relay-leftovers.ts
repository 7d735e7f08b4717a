/**
 * Publishes what a crash or an outage of the bus left unpublished, also of projects that are not polled any more: a page of the
 * work index at a time, beside the polls and never before them.
 */

import type { JournalRecord } from '../../../shared/core/records/journal-record.ts';
import { isOpen } from '../../../shared/core/records/operation-record.ts';
import { oldestFirst, oldestPendingMs } from '../../../shared/core/records/relay-plan.ts';
import { type RelayReport, relayRecords } from '../../../shared/protocol/relay-records.ts';
import { settleCommands } from '../../../shared/protocol/settle-commands.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { IndexPosition } from '../../../shared/store/table.ts';
import type { WorkPlacePage } from '../../../shared/store/work-index.ts';
import { emptyMemory } from '../project/poll.ts';
import type { Run } from './run.ts';

/** Keys of one page: two reads of a hundred items, and twenty calls of the bus at the most usual size. */
export const PAGE_KEYS = 200;

/** As many keys as go out side by side: enough to see whether the bus is back, and no storm while it is not. */
const PROBE_KEYS = 40;

/**
 * An event costs half a millisecond of a whole core (`npm run bench:drain`), and 256 MB of Lambda have a seventh of one: at this
 * rate three fifths of it are left to the polls. 100,000 events drain in a quarter of an hour.
 */
export const EVENTS_PER_SECOND_MAX = 110;

/** After a page of which nothing got through: twice as long each time. */
const BACKOFF_MS_MIN = 1_000;
const BACKOFF_MS_MAX = 30_000;

/** Between two looks at whether a poll has left something over. */
const LOOK_MS = 1_000;

/** Until the invocation stops. The first pass goes over everything, and later ones follow when something was left over. */
export async function relayLeftovers(run: Run): Promise<void> {
  let backoffMs = 0;
  for (let passCount = 0; !run.stop.signal.aborted; ) {
    if (!run.leftovers.areExpected) {
      await pause(run, LOOK_MS);
      continue;
    }
    await pause(run, backoffMs);
    run.leftovers.areExpected = false;
    const publishedCount = await passOverIndex(run, passCount === 0);
    passCount += 1;
    backoffMs = run.leftovers.areExpected ? nextBackoffMs(publishedCount > 0 ? 0 : backoffMs) : 0;
    if (!run.leftovers.areExpected) run.leftovers.oldestAtMs = undefined;
  }
}

/** How many entries were published. */
async function passOverIndex(run: Run, isFirst: boolean): Promise<number> {
  const { telemetry } = run.deps;
  const isCold = isFirst && run.memory.projects.size === 0;
  let publishedCount = 0;
  let backoffMs = 0;
  let start: IndexPosition | undefined;
  do {
    const page = await findPage(run, start, backoffMs === 0 ? PAGE_KEYS : PROBE_KEYS);
    if (page === undefined) break;
    if (isCold) noteProjects(run, page);
    const outcome = await relayPage(run, page, isFirst);
    publishedCount += outcome.publishedCount;
    if (outcome.hasFailed && backoffMs === 0)
      telemetry.log('warn', 'relay.backed_off', { reason: outcome.reason });
    backoffMs = outcome.hasFailed ? nextBackoffMs(backoffMs) : 0;
    run.leftovers.areDraining = outcome.publishedCount > 0;
    await pause(run, Math.max(backoffMs, outcome.restMs));
    start = page.next;
  } while (start !== undefined && !run.stop.signal.aborted);
  run.leftovers.areDraining = false;
  if (publishedCount > 0) telemetry.log('info', 'leftovers.relayed', { event_count: publishedCount });
  return publishedCount;
}

/** Undefined: the invocation stops, or the index cannot be read and is left to the next pass. */
async function findPage(
  run: Run,
  start: IndexPosition | undefined,
  limit: number,
): Promise<WorkPlacePage | undefined> {
  if (run.stop.signal.aborted) return undefined;
  try {
    return await run.deps.store.findWorkPage({ limit, start });
  } catch (error) {
    run.deps.telemetry.log('warn', 'relay.index_not_read', { reason: toError(error).name });
    run.leftovers.areExpected = true;
    return undefined;
  }
}

/** After a cold start these are all that is known until the projects are listed, and the list may fail. */
function noteProjects({ deps, memory }: Run, { places }: WorkPlacePage): void {
  const projectIds = new Set(places.flatMap(({ projectId }) => projectId ?? []));
  for (const id of projectIds) if (!memory.projects.has(id)) memory.projects.set(id, emptyMemory());
  if (projectIds.size > 0) deps.planner.addProjects([...projectIds]);
}

interface PageOutcome {
  readonly publishedCount: number;
  /** Something was to be published and nothing got through, or the page could not be dealt with. */
  readonly hasFailed: boolean;
  readonly reason: string;
  /** How long to rest, so that the rate stays within its bound. */
  readonly restMs: number;
}

/** One page that fails holds up no other: it is met again by the next pass. */
async function relayPage(run: Run, { places }: WorkPlacePage, isFirst: boolean): Promise<PageOutcome> {
  const { deps, stop } = run;
  const beganMs = deps.clock.now();
  try {
    const records = await deps.store.readRecords(places.map(({ key }) => key));
    if (isFirst) markHot(run, records);
    const commands = records.filter((record) => record.kind === 'command');
    const settled = await settleCommands(deps, commands, undefined, stop.signal);
    const pending = oldestFirst([...records.filter(isPending), ...settled]);
    run.leftovers.oldestAtMs = oldestPendingMs(pending) ?? run.leftovers.oldestAtMs;
    if (stop.signal.aborted) return { publishedCount: 0, hasFailed: false, reason: '', restMs: 0 };
    const relay = await relayRecords(deps, pending, stop.signal);
    noteRelay(run, relay);
    const { publishedCount, parkedCount, unpublishedCount } = relay;
    const handledCount = publishedCount + parkedCount;
    const dueMs = (1_000 * (handledCount + unpublishedCount)) / EVENTS_PER_SECOND_MAX;
    const restMs = Math.max(0, dueMs - (deps.clock.now() - beganMs));
    return {
      publishedCount,
      hasFailed: handledCount === 0 && unpublishedCount > 0,
      reason: 'the bus took nothing',
      restMs,
    };
  } catch (error) {
    run.leftovers.areExpected = true;
    return { publishedCount: 0, hasFailed: true, reason: toError(error).name, restMs: 0 };
  }
}

/** Where something is open, something is expected to happen. */
function markHot({ deps }: Run, records: readonly JournalRecord[]): void {
  for (const record of records) {
    const isHot =
      (record.kind === 'operation' && isOpen(record)) || (record.kind === 'command' && !record.is_settled);
    if (isHot) deps.planner.markHot(record.project_id);
  }
}

function noteRelay(run: Run, { publishedCount, unpublishedCount }: RelayReport): void {
  run.publishedCount += publishedCount;
  run.unpublishedCount += unpublishedCount;
  if (unpublishedCount > 0) run.leftovers.areExpected = true;
  run.deps.telemetry.measure('EventsPublished', publishedCount);
  run.deps.telemetry.measure('UnpublishedBacklog', unpublishedCount);
}

function isPending(record: JournalRecord): boolean {
  return record.published < record.revision;
}

function nextBackoffMs(beforeMs: number): number {
  return Math.min(BACKOFF_MS_MAX, Math.max(BACKOFF_MS_MIN, 2 * beforeMs));
}

async function pause({ deps, stop }: Run, durationMs: number): Promise<void> {
  if (durationMs > 0) await deps.clock.sleep(durationMs, stop.signal).catch(() => {});
}
