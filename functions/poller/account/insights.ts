/**
 * Holds in memory what recorded transitions say of the account, how long operations took and what began and failed in
 * each hour, and writes it about once a minute by compare-and-set.
 */

import { isDeepStrictEqual } from 'node:util';
import {
  type DurationSample,
  type InsightsDay,
  type InsightsStore,
  isInsightDay,
  type ReadDay,
  type StoredDay,
  withSamples,
} from '../../../shared/insights/day-insights.ts';
import {
  type CountedChange,
  type HourCountsStore,
  isCountedHour,
  type StoredHour,
  type UtcHour,
  withChanges,
} from '../../../shared/insights/hour-counts.ts';
import { HOUR_MS, MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';

/** Counts are written at the latest after this time, and a process that ends loses what waits. */
export const COUNTS_WAIT_MS_MAX = MINUTE_MS;

/** At most this many changes wait, about five megabytes. This number is reached only while the table refuses writes. */
export const PENDING_CHANGES_MAX = 20_000;

interface ChangesOfHour {
  readonly hour: UtcHour;
  readonly changes: readonly CountedChange[];
}

interface PendingCounts {
  take(change: CountedChange): void;
  /** Takes out everything that waits, once the first of it has waited for a minute. */
  takeDue(): readonly ChangesOfHour[];
  /** Puts changes back that could not be written. They are due again in a minute. */
  putBack(changes: readonly CountedChange[]): void;
  /** Returns how many changes were dropped since the last call, because too many waited. */
  takeDroppedCount(): number;
}

export function createPendingCounts(clock: Clock): PendingCounts {
  let waiting: CountedChange[] = [];
  let sinceMs: number | undefined;
  let droppedCount = 0;

  const put = (change: CountedChange) => {
    if (waiting.length >= PENDING_CHANGES_MAX) {
      droppedCount += 1;
      return;
    }
    sinceMs ??= clock.now();
    waiting.push(change);
  };

  return {
    take(change) {
      // A walk through the history shows older operations, too.
      if (isCountedHour(change.hour, clock.now())) put(change);
    },

    takeDue() {
      if (sinceMs === undefined || clock.now() - sinceMs < COUNTS_WAIT_MS_MAX) return [];
      const due = Map.groupBy(waiting, ({ hour }) => hour);
      [waiting, sinceMs] = [[], undefined];
      return [...due].map(([hour, changes]) => ({ hour, changes }));
    },

    putBack(changes) {
      for (const change of changes) put(change);
    },

    takeDroppedCount() {
      const count = droppedCount;
      droppedCount = 0;
      return count;
    },
  };
}

export interface HourCountsPort {
  readonly pending: PendingCounts;
  readonly store: HourCountsStore;
}

export interface WriteCountsDeps {
  readonly hourCounts: HourCountsPort;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
}

/** It costs nothing to look whether something waits. */
const LOOK_MS = 10_000;

/** Two pollers that write the same item at the same moment need two attempts. */
const ATTEMPTS_MAX = 3;

/** It looks at once, because a warm process may have kept changes of its previous invocation. */
export async function writeCountsRepeatedly(deps: WriteCountsDeps): Promise<void> {
  const { hourCounts, clock, telemetry, signal } = deps;
  while (!signal.aborted) {
    for (const group of hourCounts.pending.takeDue()) {
      if (signal.aborted) hourCounts.pending.putBack(group.changes);
      else await writeHour(deps, group);
    }
    const droppedCount = hourCounts.pending.takeDroppedCount();
    if (droppedCount > 0)
      telemetry.log('warn', 'hour_counts.dropped', { change_count: droppedCount, reason: 'too_many' });
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}

/**
 * A write of which the outcome is unknown is not repeated, so that nothing is counted twice. The SDK repeats a call by
 * itself, so a refusal may come from a write that was made: then the item holds what was to be written.
 */
async function writeHour(
  { hourCounts: { pending, store }, telemetry }: WriteCountsDeps,
  { hour, changes }: ChangesOfHour,
): Promise<void> {
  const drop = (reason: string) =>
    telemetry.log('warn', 'hour_counts.dropped', { hour, change_count: changes.length, reason });
  let next: StoredHour | undefined;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stored = await store.readHour(hour).catch(() => undefined);
    if (stored === undefined) break;
    if (stored === 'unreadable') return drop('unreadable');
    if (isDeepStrictEqual(stored, next)) return;
    next = { counts: withChanges(stored.counts, changes), revision: stored.revision + 1 };
    const outcome = await store.writeHour(hour, next).catch(() => 'unknown' as const);
    if (outcome === 'unknown') return drop('write_unknown');
    if (outcome === 'applied') return;
  }
  pending.putBack(changes);
}

/** An item is written once this many samples wait for it: then its write costs little beside those of their records. */
export const WAITING_SAMPLES_MAX = 32;

/** The account's item is written at the latest after this time, and a process that ends loses what waits. */
export const ACCOUNT_WAIT_MS_MAX = 10 * MINUTE_MS;

/** There can be thousands of projects, so each of their items is written four times a day when little happens. */
export const PROJECT_WAIT_MS_MAX = 6 * HOUR_MS;

/** At most this many samples wait in all, about ten megabytes. This number is reached only while the table refuses writes. */
export const PENDING_SAMPLES_MAX = 50_000;

export interface SampleGroup extends InsightsDay {
  readonly samples: readonly DurationSample[];
  /** The first of the samples has waited since this time, by our clock. */
  readonly sinceMs: number;
}

interface WaitingGroup extends InsightsDay {
  readonly samples: DurationSample[];
  sinceMs: number;
}

interface PendingSamples {
  take(sample: DurationSample): void;
  /** Takes out the samples of the items that are due. */
  takeDue(): readonly SampleGroup[];
  /** Puts samples back that could not be written. */
  putBack(group: SampleGroup): void;
  /** Returns how many samples were dropped since the last call, because too many waited. */
  takeDroppedCount(): number;
}

export function createPendingSamples(clock: Clock): PendingSamples {
  const groups = new Map<string, WaitingGroup>();
  let waitingCount = 0;
  let droppedCount = 0;

  const put = ({ projectId, day, samples, sinceMs }: SampleGroup) => {
    const key = `${day} ${projectId ?? ''}`;
    const group = groups.get(key) ?? { projectId, day, samples: [], sinceMs };
    for (const sample of samples) group.samples.push(sample);
    group.sinceMs = Math.min(group.sinceMs, sinceMs);
    groups.set(key, group);
    waitingCount += samples.length;
  };

  return {
    take(sample) {
      const nowMs = clock.now();
      // A walk through the history shows older operations, too.
      if (!isInsightDay(sample.day, nowMs)) return;
      if (waitingCount >= PENDING_SAMPLES_MAX) {
        droppedCount += 1;
        return;
      }
      const group = { day: sample.day, samples: [sample], sinceMs: nowMs };
      put({ ...group, projectId: undefined });
      put({ ...group, projectId: sample.projectId });
    },

    takeDue() {
      const nowMs = clock.now();
      const due = [...groups].filter(([, group]) => isDue(group, nowMs));
      for (const [key, { samples }] of due) {
        groups.delete(key);
        waitingCount -= samples.length;
      }
      return due.map(([, group]) => group);
    },

    putBack: put,

    takeDroppedCount() {
      const count = droppedCount;
      droppedCount = 0;
      return count;
    },
  };
}

function isDue({ projectId, samples, sinceMs }: SampleGroup, nowMs: number): boolean {
  const waitMsMax = projectId === undefined ? ACCOUNT_WAIT_MS_MAX : PROJECT_WAIT_MS_MAX;
  return samples.length >= WAITING_SAMPLES_MAX || nowMs - sinceMs >= waitMsMax;
}

interface WriteSamplesDeps {
  readonly store: InsightsStore;
  /** The id of this process stands in each item that it writes, so that it recognises its own write. */
  readonly writer: string;
}

export type WriteOutcome =
  | { readonly kind: 'written'; readonly leftOutCount: number }
  /** Nothing was written, and a later attempt may write the samples. */
  | { readonly kind: 'waiting' }
  /** The item cannot be read, or nothing says whether the write was made. Writing again could count samples twice. */
  | { readonly kind: 'lost' };

export async function writeSamples(deps: WriteSamplesDeps, group: SampleGroup): Promise<WriteOutcome> {
  const { store, writer } = deps;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const stored = await readOrWait(store, group);
    if (stored === 'unreadable') return { kind: 'lost' };
    if (stored === 'unknown') return { kind: 'waiting' };
    const { insights, leftOutCount } = withSamples(stored.insights, group.samples);
    const next = { insights, revision: stored.revision + 1, writer };
    const outcome = await tryWrite(store, group, next);
    if (outcome === 'applied') return { kind: 'written', leftOutCount };
    if (outcome !== 'refused') return { kind: outcome };
  }
  return { kind: 'waiting' };
}

async function readOrWait(store: InsightsStore, group: SampleGroup): Promise<ReadDay | 'unknown'> {
  return store.readDay(group).catch(() => 'unknown' as const);
}

/**
 * A write whose reply was lost may have been made, and so may one that is refused: the SDK repeats a call by itself,
 * and its second answer can be caused by its first. The item itself says whose write it shows.
 */
async function tryWrite(
  store: InsightsStore,
  group: SampleGroup,
  next: StoredDay,
): Promise<'applied' | 'refused' | 'waiting' | 'lost'> {
  const outcome = await store.writeDay(group, next).catch(() => 'unknown' as const);
  if (outcome === 'applied') return outcome;
  const now = await readOrWait(store, group);
  if (typeof now === 'string') return 'lost';
  if (now.revision === next.revision && now.writer === next.writer) return 'applied';
  if (outcome === 'refused') return now.revision > next.revision ? 'lost' : 'refused';
  return now.revision < next.revision ? 'waiting' : 'lost';
}

export interface InsightsPort extends WriteSamplesDeps {
  readonly pending: PendingSamples;
}

export interface InsightsDeps {
  readonly insights: InsightsPort;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly signal: AbortSignal;
}

/** It looks at once, because a warm process may have kept samples of its previous invocation. */
export async function writeInsightsRepeatedly(deps: InsightsDeps): Promise<void> {
  const { clock, signal } = deps;
  while (!signal.aborted) {
    await writeDueInsights(deps);
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
}

/** Stops between two items when the signal comes, and keeps the rest for the next invocation. */
async function writeDueInsights({ insights, telemetry, signal }: InsightsDeps): Promise<void> {
  const { pending } = insights;
  for (const group of pending.takeDue()) {
    if (signal.aborted) pending.putBack(group);
    else await writeGroup(insights, telemetry, group);
  }
  const droppedCount = pending.takeDroppedCount();
  if (droppedCount > 0)
    telemetry.log('warn', 'insights.samples_dropped', { sample_count: droppedCount, reason: 'too_many' });
}

async function writeGroup(insights: InsightsPort, telemetry: Telemetry, group: SampleGroup): Promise<void> {
  const outcome = await writeSamples(insights, group);
  if (outcome.kind === 'waiting') {
    insights.pending.putBack(group);
    telemetry.log('warn', 'insights.not_written', { project_id: group.projectId, day: group.day });
  }
  if (outcome.kind === 'lost') logDropped(telemetry, group, group.samples.length, 'write_unknown');
  if (outcome.kind === 'written' && outcome.leftOutCount > 0)
    logDropped(telemetry, group, outcome.leftOutCount, 'too_many_actions');
}

function logDropped(
  telemetry: Telemetry,
  { projectId, day }: SampleGroup,
  sampleCount: number,
  reason: string,
): void {
  telemetry.log('warn', 'insights.samples_dropped', {
    project_id: projectId,
    day,
    sample_count: sampleCount,
    reason,
  });
}
