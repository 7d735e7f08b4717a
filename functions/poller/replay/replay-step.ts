/**
 * Takes one step of a replay: reads a page of items, publishes those of their events that are in the range, and notes how
 * far it came. A crash repeats at most one page, with the same ids and bytes.
 */

import { BATCH_ENTRIES_MAX, type EntryOutcome } from '../../../shared/core/journal/relay-plan.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { REPLAY_RESOURCE } from '../../../shared/events/event-names.ts';
import type { BusEvent } from '../../../shared/events/render-event.ts';
import { type RangeReader, readRange } from '../../../shared/protocol/recorded-range.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { ParkedPage } from '../../../shared/store/adapters/parked-events.ts';
import type { RecordResult } from '../../../shared/store/adapters/record-result.ts';
import type { Replay } from '../../../shared/store/adapters/replays.ts';
import type { IndexPosition, Key } from '../../../shared/store/table.ts';

/** A step reads at most this many items. A usual operation has three events, so it sends some dozens. */
const ITEMS_PER_STEP = 20;

/**
 * A replay sends at most this many events a second. The relay may send 110 at the same time, and together they are
 * far below the smallest quota of PutEvents (400 a second in the smallest regions; AWS General Reference, EventBridge
 * quotas).
 */
export const REPLAYED_PER_SECOND_MAX = 50;

/** The index can show an item this much later than it was written, so the second pass begins earlier by this. */
const INDEX_LAG_MS_MAX = 30_000;

export interface ReplayDeps {
  readonly recorded: RangeReader;
  readonly replays: {
    saveReplay(replay: Replay): Promise<RecordResult>;
    findParked(limit: number, start: IndexPosition | undefined): Promise<ParkedPage>;
    endParked(key: Key): Promise<void>;
  };
  readonly bus: EventBus;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
}

export interface ReplayStep {
  readonly replay: Replay;
  /** It is true when the bus did not take events, or the invocation ends: the same page is sent again later. */
  readonly mustRepeat: boolean;
  /** It is true when a caller has stopped the replay meanwhile. */
  readonly isStopped: boolean;
}

/** Rejects when the table cannot be read or written. */
export async function takeReplayStep(deps: ReplayDeps, replay: Replay): Promise<ReplayStep> {
  if (replay.of_parked === true) return takeRedriveStep(deps, replay);
  const range = { since: replay.since, until: replay.until, projectId: replay.project_id };
  const page = await readRange(deps.recorded, range, {
    movedSince: movedSince(replay),
    start: replay.position,
    itemsMax: ITEMS_PER_STEP,
  });
  const marked = page.events.map((event) => ({
    ...event,
    resources: [`${REPLAY_RESOURCE}${replay.replay_id}`],
  }));
  const outcomes = await publishSlowly(deps, marked);
  if (outcomes === undefined) return { replay, mustRepeat: true, isStopped: false };
  const refusedCount = outcomes.filter(({ kind }) => kind === 'refused').length;
  const next: Replay = {
    ...nextPosition(replay, page.next, isoTimeOf(deps.clock.now())),
    sent_count: replay.sent_count + outcomes.length - refusedCount,
    refused_count: replay.refused_count + refusedCount,
  };
  const isStopped = (await deps.replays.saveReplay(next)) === 'conflict';
  return { replay: next, mustRepeat: false, isStopped };
}

/** Sends a page of parked events again, unmarked. What the bus refuses once more stays parked. */
async function takeRedriveStep(deps: ReplayDeps, replay: Replay): Promise<ReplayStep> {
  const { replays, clock } = deps;
  const page = await replays.findParked(ITEMS_PER_STEP, replay.position);
  let counted = replay;
  let mustRepeat = false;
  for (let first = 0; first < page.events.length && !mustRepeat; first += BATCH_ENTRIES_MAX) {
    const batch = page.events.slice(first, first + BATCH_ENTRIES_MAX);
    const outcomes = await publishSlowly(
      deps,
      batch.map(({ event }) => event),
    );
    mustRepeat = outcomes === undefined;
    const sent = batch.filter((_, place) => outcomes?.[place]?.kind === 'accepted');
    for (const { key } of sent) await replays.endParked(key);
    const sentCount = counted.sent_count + sent.length;
    const refusedCount = counted.refused_count + (outcomes === undefined ? 0 : batch.length - sent.length);
    counted = { ...counted, sent_count: sentCount, refused_count: refusedCount };
  }
  const { position: _before, ...rest } = counted;
  const moved =
    page.next === undefined
      ? { ...rest, ended_at: isoTimeOf(clock.now()) }
      : { ...rest, position: page.next };
  const next = mustRepeat ? counted : moved;
  const isStopped = next !== replay && (await replays.saveReplay(next)) === 'conflict';
  return { replay: next, mustRepeat: mustRepeat && !isStopped, isStopped };
}

/**
 * An item that changes during the first pass moves in the index and may be passed over, so the second pass reads all
 * items that have changed since the replay began. Their events may be sent twice, with the same ids.
 */
function movedSince({ since, requested_at, is_second_pass }: Replay): string {
  const begun = isoTimeOf(Date.parse(requested_at) - INDEX_LAG_MS_MAX);
  return is_second_pass && begun > since ? begun : since;
}

function nextPosition(replay: Replay, next: Replay['position'], now: string): Replay {
  const { position: _before, ...rest } = replay;
  if (next !== undefined) return { ...rest, position: next };
  return replay.is_second_pass ? { ...rest, ended_at: now } : { ...rest, is_second_pass: true };
}

/** Resolves to undefined when the bus did not take an event that it may take later, or the stop signal came. */
async function publishSlowly(
  { bus, clock, telemetry, signal }: ReplayDeps,
  events: readonly BusEvent[],
): Promise<readonly EntryOutcome[] | undefined> {
  const outcomes: EntryOutcome[] = [];
  for (let first = 0; first < events.length; first += BATCH_ENTRIES_MAX) {
    if (signal.aborted) return undefined;
    const batch = events.slice(first, first + BATCH_ENTRIES_MAX);
    const answers = await bus.publish(batch);
    const failed = answers.find((answer) => answer.kind === 'retry');
    if (failed !== undefined) {
      telemetry.log('warn', 'replay.interrupted', { reason: failed.code });
      return undefined;
    }
    outcomes.push(...answers);
    await clock.sleep((batch.length * 1_000) / REPLAYED_PER_SECOND_MAX, signal).catch(() => {});
  }
  return outcomes;
}
