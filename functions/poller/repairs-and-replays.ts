/**
 * Fulfils what callers ask of the poller, beside the polls. A repair lowers the bound of a project, which is always
 * safe (PROTOCOL.md), and the next walk records what is missing above it. A replay publishes recorded events once more,
 * slower than the relay, and notes how far it came after each page of items, so a crash repeats at most one page, with
 * the same ids and bytes.
 */

import { REPLAY_RESOURCE } from '../../shared/events/event-names.ts';
import { type BusEvent, renderEvent } from '../../shared/events/render-event.ts';
import { type EventChoice, isChosen } from '../../shared/records/event-choice.ts';
import { BATCH_ENTRIES_MAX, type EntryOutcome } from '../../shared/records/journal.ts';
import type { JournalEntry } from '../../shared/records/journal-entries.ts';
import type { JournalRecord } from '../../shared/records/journal-record.ts';
import { sinceAfterSecondEdition } from '../../shared/records/project-record.ts';
import { isoTimeOf, MINUTE_MS, secondOf } from '../../shared/records/time.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { BridgeStore } from '../../shared/store/bridge-store.ts';
import { isRecordKey } from '../../shared/store/keys.ts';
import { FEED_INDEX, type IndexPosition, type Key, type TableIndexes } from '../../shared/store/table.ts';
import type { Repair, Replay } from '../../shared/store/wishes.ts';
import type { InvocationDeps } from './account/account-deps.ts';

/** A wish that goes on, or that could not be served, is looked at again after this time. */
const LOOK_MS = 5_000;

/** The bell rings for wishes, so a look only finds what was left without a ring. */
const REST_MS = MINUTE_MS;

export interface Repairing {
  /** Lets the next poll of a project read everything again, and come soon. */
  readonly readAgain: (projectId: string) => void;
  /** Returns when the last poll of the project began that has walked to the end, as far as that is not to be read again. */
  readonly walkedFromMs: (projectId: string) => number | undefined;
  /** Runs a task, and notes its failure without letting it pass. */
  readonly survive: (task: () => Promise<void>) => Promise<void>;
}

export async function repairRepeatedly(deps: InvocationDeps, repairing: Repairing): Promise<void> {
  const { store, clock, signal } = deps;
  const pause = deps.bell.listen();
  while (!signal.aborted) {
    let projectIds: readonly string[] = [];
    await repairing.survive(async () => {
      projectIds = await store.findRepairs();
    });
    for (const id of projectIds)
      if (!signal.aborted) await repairing.survive(() => repairStep(deps, repairing, id));
    // A repair that goes on is looked at again soon.
    if (projectIds.length > 0) await clock.sleep(LOOK_MS, signal).catch(() => {});
    else await pause(REST_MS, signal);
  }
}

/** Lowers the bound once, and ends the repair when a walk has come to its end since. */
async function repairStep(
  { store, clock, telemetry }: InvocationDeps,
  repairing: Repairing,
  projectId: string,
): Promise<void> {
  const repair = await store.readRepair(projectId);
  if (repair === undefined || repair.ended_at !== undefined) return;
  const isDone =
    repair.lowered_at === undefined
      ? await lowerBound(store, clock, repair)
      : hasBegunAnew(repairing, repair) && (await hasWalked(store, repair));
  repairing.readAgain(projectId);
  if (!isDone) return;
  const now = isoTimeOf(clock.now());
  if (repair.lowered_at === undefined) return void (await store.saveRepair({ ...repair, lowered_at: now }));
  await store.saveRepair({ ...repair, ended_at: now });
  telemetry.log('info', 'repair.ended', { project_id: projectId, since: repair.since });
}

/** Resolves to false when another process has moved the bound meanwhile. Then the next look lowers it again. */
async function lowerBound(
  store: BridgeStore,
  clock: Clock,
  { project_id, since: low }: Repair,
): Promise<boolean> {
  const project = await store.readProject(project_id);
  const { bound, since, isOfSecondEdition } = project ?? {};
  if (bound === undefined || bound <= low) return true;
  const known = isOfSecondEdition ? sinceAfterSecondEdition(since, bound, secondOf(clock.now())) : undefined;
  const progress = { bound: low, isLowered: true, resume: null, ...(known && { since: known }) } as const;
  return (await store.saveProgress(project_id, progress, bound)) === 'recorded';
}

/** Where there was no bound to lower, the record does not show whether anything was read since. */
function hasBegunAnew({ walkedFromMs }: Repairing, { project_id, lowered_at = '' }: Repair): boolean {
  return (walkedFromMs(project_id) ?? 0) > Date.parse(lowered_at);
}

/** A walk that comes to its end earns a bound of its own, and leaves no place where another one goes on. */
async function hasWalked(store: BridgeStore, { project_id }: Repair): Promise<boolean> {
  const { isLowered, resume } = (await store.readProject(project_id)) ?? {};
  return isLowered !== true && resume === undefined;
}

interface RangePage {
  /** The events of one record follow each other. */
  readonly events: readonly BusEvent[];
  /** The number of items that were read, with or without a chosen event. */
  readonly itemCount: number;
  /** It is undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

interface RangeRequest {
  /** Only items are read whose latest event is not older than this time. No item with an event of the range is. */
  readonly movedSince: string;
  readonly start: IndexPosition | undefined;
  /** At most this many items are read. Each has at most some dozens of entries. */
  readonly itemsMax: number;
}

/** Leaves out events that the bus has not accepted yet, because these are published anyway. */
export async function readRange(
  { indexes, store }: { readonly indexes: TableIndexes; readonly store: BridgeStore },
  choice: EventChoice,
  { movedSince, start, itemsMax }: RangeRequest,
): Promise<RangePage> {
  const after = isoTimeOf(Date.parse(movedSince) - 1);
  const { keys, next } = await indexes.query({
    index: FEED_INDEX,
    partition: store.accountId,
    after,
    limit: itemsMax,
    start,
  });
  const records = await store.readRecords(keys.filter(isRecordKey));
  return { events: records.flatMap((record) => eventsIn(record, choice)), itemCount: keys.length, next };
}

function eventsIn(record: JournalRecord, choice: EventChoice): readonly BusEvent[] {
  const entries: readonly JournalEntry[] = record.entries;
  return entries
    .filter(({ revision }) => revision <= record.published)
    .map((entry) => renderEvent(record, entry))
    .filter((event) => isChosen(choice, { ...event, detail: JSON.parse(event.detail) as Parsed }));
}

type Parsed = Readonly<Record<string, unknown>>;

/** A page has at most this many items. A usual operation has three events, so some dozens are sent. */
const ITEMS_PER_PAGE = 20;

/** After a page of which nothing is sent, the replay reads on this much later, which is 500 items a second. */
const EMPTY_PAGE_MS = 40;

/**
 * A replay sends at most this many events a second. The relay may send 110 at the same time, and together they are
 * far below the smallest quota of PutEvents (400 a second; AWS General Reference, EventBridge quotas).
 */
export const REPLAYED_PER_SECOND_MAX = 50;

/** The index can show an item this much later than it was written, so the second pass begins earlier by this. */
const INDEX_LAG_MS_MAX = 30_000;

/** What the loop shares with the other loops of its invocation. */
export interface Replaying {
  /** It is true while a replay is in progress, so the invocation must not end early. */
  isBusy: boolean;
  /** Runs a task, and notes its failure without letting it pass. */
  readonly survive: (task: () => Promise<void>) => Promise<void>;
}

export async function replayRepeatedly(deps: InvocationDeps, replaying: Replaying): Promise<void> {
  const { store, clock, bell, signal } = deps;
  const pause = bell.listen();
  while (!signal.aborted) {
    let isGoingOn = false;
    await replaying.survive(async () => {
      const replay = await store.readReplay();
      replaying.isBusy = replay !== undefined && replay.ended_at === undefined;
      if (replay !== undefined && replaying.isBusy) isGoingOn = await replayStep(deps, replay);
    });
    if (replaying.isBusy && !isGoingOn) await clock.sleep(LOOK_MS, signal).catch(() => {});
    else if (!isGoingOn) await pause(REST_MS, signal);
  }
}

/** Resolves to false when the bus did not take events, or the invocation ends: the same page is sent again later. */
async function replayStep(deps: InvocationDeps, replay: Replay): Promise<boolean> {
  const { store, clock, telemetry, signal } = deps;
  const { events, next, itemCount } = replay.of_parked
    ? await store.findParked(ITEMS_PER_PAGE, replay.position)
    : await chosenPage(deps, replay);
  const outcomes = await publishSlowly(deps, replay.is_dry_run ? [] : events);
  const isSent = replay.is_dry_run || outcomes.length === events.length;
  if (!isSent && outcomes.length === 0) return false;
  const sent = replay.is_dry_run ? events : events.filter((_, place) => outcomes[place]?.kind === 'accepted');
  for (const { key } of sent) if (key !== undefined) await store.endParked(key);
  const counts = {
    read_count: replay.read_count + (isSent ? itemCount : 0),
    ...countedIn(replay, sent.length),
    refused_count: replay.refused_count + outcomes.filter(({ kind }) => kind === 'refused').length,
  };
  const way = isSent ? wayOn(replay, next, isoTimeOf(clock.now())) : { position: replay.position };
  const isStopped = (await store.noteReplay(replay.replay_id, { ...way, ...counts })) === 'conflict';
  if ('ended_at' in way || isStopped) telemetry.log('info', 'replay.ended', counts);
  if (outcomes.length === 0) await clock.sleep(EMPTY_PAGE_MS, signal).catch(() => {});
  return isSent || isStopped;
}

/** What the second pass sends was counted before, but for the few events that the first pass has passed over. */
function countedIn({ is_second_pass, sent_count, repeated_count = 0 }: Replay, sentNow: number) {
  return is_second_pass
    ? { sent_count, repeated_count: repeated_count + sentNow }
    : { sent_count: sent_count + sentNow };
}

/** An event with a key is parked under it, until the bus has it. */
interface Replayed {
  readonly event: BusEvent;
  readonly key?: Key;
}

/**
 * An item that changes during the first pass moves in the index and may be passed over, so the second pass reads all
 * items that have changed since the replay began. Their events may be sent twice, with the same ids.
 */
async function chosenPage(deps: InvocationDeps, replay: Replay) {
  const begun = isoTimeOf(Date.parse(replay.requested_at) - INDEX_LAG_MS_MAX);
  const movedSince = replay.is_second_pass && begun > replay.since ? begun : replay.since;
  const request = { movedSince, start: replay.position, itemsMax: ITEMS_PER_PAGE };
  const { events, ...page } = await readRange(deps, replay, request);
  const resources = [`${REPLAY_RESOURCE}${replay.replay_id}`];
  return { events: events.map((event): Replayed => ({ event: { ...event, resources } })), ...page };
}

function wayOn(replay: Replay, position: IndexPosition | undefined, ended_at: string) {
  if (position !== undefined) return { position };
  // Nothing is missed where events are only counted, and the second pass would count some of them twice.
  const isOnlyPass = replay.of_parked || replay.is_dry_run;
  return isOnlyPass || replay.is_second_pass ? { ended_at } : { is_second_pass: true };
}

/**
 * Sends the events in their order. It stops at the first event that the bus does not take, or when the stop signal comes, and
 * resolves to the outcomes of the events that were sent.
 */
async function publishSlowly(
  { bus, clock, telemetry, signal }: InvocationDeps,
  events: readonly Replayed[],
): Promise<readonly EntryOutcome[]> {
  const outcomes: EntryOutcome[] = [];
  for (let first = 0; first < events.length && !signal.aborted; first += BATCH_ENTRIES_MAX) {
    const batch = events.slice(first, first + BATCH_ENTRIES_MAX).map(({ event }) => event);
    const answers = await bus.publish(batch);
    const failed = answers.find((answer) => answer.kind === 'retry');
    if (failed !== undefined) {
      telemetry.log('warn', 'replay.interrupted', { reason: failed.code });
      return outcomes;
    }
    outcomes.push(...answers);
    await clock.sleep((batch.length * 1_000) / REPLAYED_PER_SECOND_MAX, signal).catch(() => {});
  }
  return outcomes;
}
