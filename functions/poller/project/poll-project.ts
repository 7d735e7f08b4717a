/**
 * Polls one project, in the steps of PROTOCOL.md: reads the store, reads the upstream, records what changed and publishes
 * it, and remembers how far it got.
 */

import { settleCommands } from '../../../shared/protocol/record-derived.ts';
import { type RelayReport, relayRecords } from '../../../shared/protocol/relay-records.ts';
import type { CommandRecord } from '../../../shared/records/command-record.ts';
import { isPending } from '../../../shared/records/journal.ts';
import type { JournalEntry } from '../../../shared/records/journal-entries.ts';
import { isTerminal } from '../../../shared/records/operation-record.ts';
import type { ProjectRecord, StoredArrivals } from '../../../shared/records/project-record.ts';
import { earlierBy, epochMsOf } from '../../../shared/records/time.ts';
import { answersWish } from '../../../shared/records/transfer.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { isUpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { type ArrivalHistory, activityOf, type ProjectActivity } from '../planner/project-activity.ts';
import { watchOpen } from './open-operations.ts';
import {
  endPoll,
  type FetchedPage,
  fetchPage,
  type Poll,
  type PollDeps,
  type PollRequest,
  startPoll,
} from './poll.ts';
import type { ProjectMemory, QuietPage } from './project-memory.ts';
import { recordPage } from './record-page.ts';
import {
  decideProgress,
  hasReadNothingBelow,
  restartWalk,
  SWEEP_DEPTH_MS,
  startSweep,
  startWalk,
  takePage,
  type Walk,
  withRandomPage,
} from './walk.ts';

export interface PollReport {
  readonly outcome: 'complete' | 'interrupted';
  /** Says why the upstream could not be read to the end. It is undefined when it could. */
  readonly failure: UpstreamErrorKind | undefined;
  /** This poll has recorded this many transitions. */
  readonly recordedCount: number;
  /** The newest page says how soon to come back. It is undefined when none was read. */
  readonly activity: ProjectActivity | undefined;
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  readonly relay: RelayReport;
  /** This many records have unpublished entries that others wrote. They are relayed beside the polls. */
  readonly leftoverCount: number;
}

/** What the pages of one walk or sweep came to. */
interface Read {
  readonly walk: Walk;
  readonly firstPage: FetchedPage | undefined;
  /** Says why the upstream could not be read to the end. It is undefined when it could. */
  readonly failure: UpstreamErrorKind | undefined;
}

export async function pollProject(
  deps: PollDeps,
  request: PollRequest,
  memory: ProjectMemory,
): Promise<PollReport> {
  const { clock } = deps;
  const poll = await startPoll(deps, request, memory);
  if (poll.project?.moved_to !== undefined) return reportMoved(poll.project);
  const read = await readList(deps, poll, request);
  const { walk, failure } = read;
  const activity = read.firstPage && activityIn(poll, read, read.firstPage, clock.now());
  if (walk.pagesRead > 0 && (failure === undefined || failure === 'cancelled')) request.onRead?.();
  await publishMeanwhile(deps, poll);
  const sweep = await sweepList(deps, poll, request, read);
  const hasAnswered = await answerWish(deps, poll, failure === undefined && walk.pagesRead > 0);
  await watchOpen(deps, poll, failure === undefined);
  const hasProgress = await saveProgress(deps, poll, read, sweep, request.history ?? activity);
  const settled = await settleCommands(deps, poll.commands, poll.records, poll.signal);
  const { relay, leftoverCount } = await publishRecorded(deps, poll, settled);
  endPoll(poll, {
    walk,
    hasFailed: failure !== undefined,
    hasWritten: poll.transitionCount > 0 || hasProgress || hasAnswered || sweep !== undefined,
    unfinishedCount: relay.unpublishedCount + leftoverCount + poll.commands.length,
    page: quietPageOf(poll, read, activity),
  });
  return {
    outcome: walk.hasArrived ? 'complete' : 'interrupted',
    // A sweep that fails delays nothing, since the walk has read what is new. Only a rejected key concerns the account.
    failure: failure ?? (sweep?.failure === 'unauthorized' ? sweep.failure : undefined),
    recordedCount: poll.transitionCount,
    activity,
    project: poll.project,
    relay,
    leftoverCount,
  };
}

/** Another account has the project, and neither the upstream nor the table is asked about it here. */
function reportMoved(project: ProjectRecord): PollReport {
  const nothing = { publishedCount: 0, unpublishedCount: 0, parkedCount: 0, underivedCount: 0, records: [] };
  return {
    outcome: 'interrupted',
    failure: undefined,
    recordedCount: 0,
    activity: undefined,
    project,
    relay: nothing,
    leftoverCount: 0,
  };
}

/** Another account lists the project, too, and waits to hear that this one can still read it. Resolves to whether it was told. */
async function answerWish(
  { store }: PollDeps,
  { project, projectId, beganMs }: Poll,
  isRead: boolean,
): Promise<boolean> {
  if (!isRead || project?.wanted_at_ms === undefined || !answersWish(project, beganMs)) return false;
  await store.answerWish(projectId, project.wanted_at_ms);
  return true;
}

/** Walks the list from its head down to what earlier polls have recorded. */
async function readList(deps: PollDeps, poll: Poll, request: PollRequest): Promise<Read> {
  const start = startWalk(poll.project, deps.options.walkLimits);
  const read = await followPages(deps, poll, request, start);
  if (read.walk.isOutOfOrder) reportDisorder(deps, poll);
  return read;
}

/**
 * Reads page after page, and records each before the walk goes on, until the walk ends or something fails. What a page has shown is
 * published before the next one is asked for, because that request may have to wait for its permit.
 */
async function followPages(deps: PollDeps, poll: Poll, request: PollRequest, start: Walk): Promise<Read> {
  let storedCursor = start.resume?.cursor ?? start.next?.cursor;
  let walk = start;
  let firstPage: FetchedPage | undefined;
  while (walk.next !== undefined) {
    const known = walk.isSweep || walk.next.cursor !== undefined ? undefined : poll.quiet?.page;
    await publishMeanwhile(deps, poll);
    const page = await fetchPage(deps, request, walk.next, known?.digest);
    if (isUpstreamError(page)) {
      const isStored = storedCursor !== undefined && walk.next.cursor === storedCursor;
      if (page.kind !== 'rejected' || !isStored) return { walk, firstPage, failure: page.kind };
      // A stored cursor that the upstream refuses must not hold the project up for ever. The head may lead to it again.
      walk = restartWalk(walk);
      storedCursor = undefined;
      continue;
    }
    const after = takePage(walk, page);
    for (const id of page.isUnchanged ? (known?.openIds ?? []) : []) takeUnchanged(deps, poll, id);
    if (!(await recordPage(deps, poll, after, page))) return { walk, firstPage, failure: undefined };
    firstPage ??= page;
    walk = after.isSweep ? withRandomPage(after, pageRowsOf(deps, after), deps.random.next()) : after;
  }
  return { walk, firstPage, failure: undefined };
}

/** A page that has not changed shows its open operations as they were. */
function takeUnchanged({ clock }: PollDeps, { readIds, memory }: Poll, operationId: string): void {
  readIds.add(operationId);
  memory.missing.delete(operationId);
  memory.readAtMs.set(operationId, clock.now());
}

/**
 * A failed sweep is tried again after this time and not with every poll: what it looks for is rare, and the walk has
 * read what is new.
 */
const SWEEP_RETRY_MS = 10 * 60_000;

/**
 * Sweeps the list once a day. Resolves to undefined when no sweep is due. A sweep follows a walk that has arrived, so
 * that what is new never waits for it, and takes the pages that the walk has left, and at least one.
 */
async function sweepList(
  deps: PollDeps,
  poll: Poll,
  request: PollRequest,
  { walk }: Read,
): Promise<Read | undefined> {
  const { clock, options, telemetry, random } = deps;
  const { project, memory } = poll;
  const bound = project?.sweep?.bound ?? (project?.bound && earlierBy(project.bound, SWEEP_DEPTH_MS));
  if (bound === undefined || !walk.hasArrived || !isSweepDue(deps, poll)) return undefined;
  const { walkLimits } = options;
  const limits = { ...walkLimits, pagesMax: Math.max(1, walkLimits.pagesMax - walk.pagesRead) };
  const start = startSweep(
    { bound, cursor: project?.sweep?.cursor },
    limits,
    pageRowsOf(deps, walk),
    random.next(),
  );
  const read = await followPages(deps, poll, request, start);
  // A sweep that the end of the invocation has cut short goes on with the next poll.
  const hasFailed = read.failure !== undefined && read.failure !== 'cancelled';
  memory.sweepFailedAtMs = hasFailed ? clock.now() : undefined;
  if (hasFailed)
    telemetry.log('warn', 'sweep.interrupted', { project_id: poll.projectId, reason: read.failure });
  if (read.walk.isOutOfOrder) reportDisorder(deps, poll);
  return read;
}

function isSweepDue({ clock, options }: PollDeps, { project, memory }: Poll): boolean {
  const nowMs = clock.now();
  const { sweepFailedAtMs } = memory;
  const isResting = sweepFailedAtMs !== undefined && Math.abs(nowMs - sweepFailedAtMs) < SWEEP_RETRY_MS;
  return !isResting && Math.abs(nowMs - (project?.swept_at_ms ?? 0)) >= options.sweepIntervalMs;
}

/** Returns the most rows that a page of this list is known to hold, as its first page shows. */
function pageRowsOf({ options }: PollDeps, { pageRowsMax }: Walk): number {
  return Math.max(1, pageRowsMax ?? options.walkLimits.widePageRows);
}

/** A list that is not newest first breaks the specification. Only sweeps find what stands below its head there. */
function reportDisorder({ telemetry }: PollDeps, { memory, projectId }: Poll): void {
  telemetry.measure('ListsOutOfOrder', 1);
  if (memory.isDisorderLogged) return;
  memory.isDisorderLogged = true;
  telemetry.log('error', 'list.out_of_order', { project_id: projectId });
}

/** Resolves to whether there was something to write. */
async function saveProgress(
  deps: PollDeps,
  poll: Poll,
  { walk }: Read,
  sweep: Read | undefined,
  history: ArrivalHistory | undefined,
): Promise<boolean> {
  const { store, clock, options } = deps;
  const { projectId, project, since, newerIds } = poll;
  const progress = decideProgress({
    project,
    walk,
    sweep: sweep?.walk,
    newerRowCount: newerIds.size,
    boundStepRows: options.boundStepRows,
    since: project?.isOfSecondEdition === true ? since : undefined,
    arrivals: history && storedArrivals(history),
    nowMs: clock.now(),
  });
  if (progress === undefined) return false;
  const boundRead = project?.bound ?? null;
  if ((await store.saveProgress(projectId, progress, boundRead)) === 'recorded') {
    if (progress.bound !== undefined) await countHistory(deps, poll);
    return true;
  }
  // Another process has moved the bound, or lowered it. What the sweep has read is true all the same.
  const { sweep: sweepPoint, sweptAtMs } = progress;
  const rest = {
    ...(sweepPoint !== undefined && { sweep: sweepPoint }),
    ...(sweptAtMs !== undefined && { sweptAtMs }),
  };
  if (Object.keys(rest).length > 0) await store.saveProgress(projectId, rest, boundRead);
  return true;
}

/**
 * Counts what the history of a project took. One process sets the first bound, and from then on no walk meets this
 * history again, so it is counted once. An operation of a command has a record although it ended before the project was
 * first read, and is counted by that record.
 */
async function countHistory(
  { store, insights, telemetry }: PollDeps,
  { projectId, memory: { historySamples } }: Poll,
): Promise<void> {
  const found = [...historySamples];
  historySamples.clear();
  if (found.length === 0) return;
  try {
    const ids = found.map(([id]) => id);
    const { records, unreadableIds } = await store.readOperations(projectId, ids);
    for (const [id, sample] of found)
      if (!records.has(id) && !unreadableIds.has(id)) insights.takeSample(sample);
  } catch (error) {
    const reason = toError(error).name;
    telemetry.log('warn', 'insights.dropped', { project_id: projectId, value_count: found.length, reason });
  }
}

function storedArrivals({ arrivalCount, observedMs }: ArrivalHistory): StoredArrivals {
  return { count: Number(arrivalCount.toFixed(2)), observed_ms: Math.round(observedMs) };
}

/** Publishes what this poll has recorded before it goes on. After the stop signal, its end publishes alone, and once. */
async function publishMeanwhile(deps: PollDeps, poll: Poll): Promise<void> {
  if (poll.signal?.aborted !== true) await publishRecorded(deps, poll);
}

/** Publishes what this poll has recorded, and these commands, which it has settled. The report counts the whole poll. */
async function publishRecorded(
  deps: PollDeps,
  poll: Poll,
  settledCommands: readonly CommandRecord[] = [],
): Promise<Pick<PollReport, 'relay' | 'leftoverCount'>> {
  const { project, commands, stored, records, signal } = poll;
  const pending = [...records.values()].filter(isPending);
  const recorded = pending.filter((record) => stored.get(record.operation_id) !== record);
  const others = [...(project ? [project] : []), ...commands].filter(isPending);
  // The first walk of a project shows how late the bridge came, and not how soon it publishes a change.
  const relayDeps = project?.bound === undefined ? { ...deps, onPublished: undefined } : deps;
  const around = [...records.values()];
  const relay = await relayRecords(relayDeps, [...recorded, ...settledCommands], signal, around);
  for (const record of relay.records)
    if (record.kind === 'operation') records.set(record.operation_id, record);
  poll.publishedCount += relay.publishedCount;
  const leftoverCount = pending.length - recorded.length + others.length;
  return { relay: { ...relay, publishedCount: poll.publishedCount }, leftoverCount };
}

/**
 * Returns what is done with each published entry: it measures how long after the upstream's own time the bus accepted
 * it. Only changes of an operation that a poll saw in time are measured.
 */
export function measurePublished({
  clock,
  telemetry,
}: Pick<PollDeps, 'clock' | 'telemetry'>): (entry: JournalEntry) => void {
  return (entry) => {
    if (entry.type !== 'state_changed' || entry.observed_by === 'backfill' || entry.late === true) return;
    const changedAtMs = Date.parse(entry.operation_updated_at);
    if (!Number.isNaN(changedAtMs))
      telemetry.measure('PublishDelayMs', Math.max(0, clock.now() - changedAtMs));
  };
}

function activityIn({ quiet }: Poll, { walk }: Read, page: FetchedPage, nowMs: number): ProjectActivity {
  if (page.isUnchanged && quiet?.page !== undefined) return quiet.page.activity;
  const hasEnd = page.cursor === undefined || (walk.pagesRead > 1 && hasReadNothingBelow(walk, page));
  return activityOf(page.operations, hasEnd, nowMs);
}

/**
 * Returns what the next poll needs to know of the first page if the project is quiet. Where the walk has read below that page,
 * nothing may appear there any more: the newest row has to be older than the overlap.
 */
function quietPageOf(
  { quiet }: Poll,
  { walk, firstPage }: Read,
  activity: ProjectActivity | undefined,
): QuietPage | undefined {
  const { digest } = firstPage ?? {};
  if (firstPage === undefined || activity === undefined || digest === undefined) return undefined;
  if (firstPage.isUnchanged) return quiet?.page;
  const isStill = walk.pagesRead === 1 || isOlderThanOverlap(walk, firstPage);
  if (!isStill || firstPage.malformedRowCount > 0 || !hasReadNothingBelow(walk, firstPage)) return undefined;
  const open = firstPage.operations.filter(({ status }) => !isTerminal(status));
  return { digest, activity, openIds: open.map(({ id }) => id) };
}

function isOlderThanOverlap({ head, limits }: Walk, { readAt }: FetchedPage): boolean {
  return head !== undefined && epochMsOf(readAt) - epochMsOf(head) > limits.overlapMs;
}
