/**
 * Watches what projects use, from the rows of the project list that are read anyway, and publishes once for each limit,
 * threshold and billing period that a share of the limit was used.
 */

import type { PollAccountSettings } from '../../../shared/config/poller-config.ts';
import type { AccountRecord } from '../../../shared/records/account-record.ts';
import type { ProjectRecord } from '../../../shared/records/project-record.ts';
import {
  decideUsage,
  hasMoved,
  periodEndOf,
  USAGE_METRICS,
  type Usage,
  type UsageFigures,
  type UsageLimit,
  type UsageReading,
  usageAfter,
} from '../../../shared/records/usage.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import type { ProjectRow } from '../../../shared/upstream/calls/schemas.ts';
import type { InvocationDeps, UsageWatch } from './account-deps.ts';
import type { Discovery } from './discovery/origin.ts';
import { recordAndRelay } from './relay-leftovers.ts';

/** The settings of an account that say which limits there are and what is kept. */
export type UsageSettings = PollAccountSettings['usage'];

/** All projects together stand under this key, which is no id of a project. */
const ACCOUNT = '';

export function createUsageWatch(settings: UsageSettings): UsageWatch {
  const shown = new Map<string, UsageReading>();
  const recorded = new Map<string, Usage | undefined>();
  const waiting = new Set<string>();
  let takenCount = 0;
  let lookedAtCount = 0;

  return {
    take(rows, nowMs) {
      for (const row of rows) {
        const reading = readingOf(row, settings, nowMs);
        const before = shown.get(row.id);
        if (reading === undefined || isSame(before, reading)) continue;
        // An answer of a replica that lags may still be about the period before.
        if (reading.resets_at < (before?.resets_at ?? '')) continue;
        shown.set(row.id, reading);
        waiting.add(row.id);
        takenCount += 1;
      }
    },

    isBusy: () => lookedAtCount < takenCount,

    async write(deps, knownIds) {
      const count = takenCount;
      if (knownIds !== undefined) addSum(knownIds);
      for (const id of waiting) {
        if (deps.signal.aborted) return;
        const reading = shown.get(id);
        if (reading === undefined || (await isDone(deps, id, reading))) waiting.delete(id);
      }
      // Before the whole list was read there was no sum to look at.
      if (knownIds !== undefined) lookedAtCount = count;
    },
  };

  /** Forgets projects that are gone, and adds up what the others have used when one of them has used more. */
  function addSum(knownIds: ReadonlySet<string>): void {
    for (const id of shown.keys())
      if (!knownIds.has(id) && id !== ACCOUNT) for (const each of [shown, recorded, waiting]) each.delete(id);
    if (lookedAtCount === takenCount) return;
    const readings = [...shown].filter(([id]) => id !== ACCOUNT).map(([, reading]) => reading);
    const sum = sumOf(readings, limitsOf('configuration', settings.account_limits));
    if (sum === undefined) return;
    shown.set(ACCOUNT, sum);
    waiting.add(ACCOUNT);
  }

  /** Resolves to false when the reading is to be looked at again: it is not written, or its step of the history is not due. */
  async function isDone(
    { store, ...deps }: InvocationDeps,
    id: string,
    reading: UsageReading,
  ): Promise<boolean> {
    const nowMs = deps.clock.now();
    const isNews = () => usageAfter(recorded.get(id), reading, settings, nowMs) !== undefined;
    const isKept = () => !settings.keeps_history || !hasMoved(recorded.get(id), reading);
    // What would be no news to an empty record is none to any, so nothing is read for it.
    if (!isNews()) return isKept();
    const record = await unlessUnreadable<ProjectRecord | AccountRecord | undefined>(
      id === ACCOUNT ? store.readAccount() : store.readProject(id),
    );
    if (record === undefined) return false;
    recorded.set(id, record.usage);
    const next = decideUsage(record, reading, settings, nowMs);
    if (next === undefined) return !isNews() && isKept();
    if (!(await recordAndRelay({ store, ...deps }, next, record))) return false;
    recorded.set(id, next.usage);
    return true;
  }
}

/**
 * Returns undefined when the row does not say when the period ends. The fields are those of the public contract; the
 * specification shows `cpu_used_sec` alone.
 */
function readingOf(row: ProjectRow, settings: UsageSettings, nowMs: number): UsageReading | undefined {
  const resets_at = periodEndOf(row.quota_reset_at, nowMs);
  if (resets_at === undefined) return undefined;
  const quota: unknown = Object(row.settings).quota;
  return {
    resets_at,
    ...figuresIn({ active_time_seconds: row.active_time, compute_time_seconds: row.cpu_used_sec }),
    limits: [...limitsOf('quota', quota), ...limitsOf('configuration', settings.project_limits[row.id])],
  };
}

/** A figure of another form is left out. */
function figuresIn(fields: unknown): UsageFigures {
  const values = USAGE_METRICS.map((metric) => [metric, Object(fields)[metric] as unknown] as const);
  return Object.fromEntries(values.filter(([, value]) => typeof value === 'number' && value >= 0));
}

/** A quota of 0 is none (public contract). */
function limitsOf(limit_from: UsageLimit['limit_from'], fields: unknown): readonly UsageLimit[] {
  const limits = figuresIn(fields);
  return USAGE_METRICS.flatMap((metric) => {
    const limit = limits[metric] ?? 0;
    return limit > 0 ? [{ metric, limit, limit_from }] : [];
  });
}

/** At the turn of a period some rows are still about the one before, and count nothing in the new one. */
function sumOf(readings: readonly UsageReading[], limits: readonly UsageLimit[]): UsageReading | undefined {
  const resets_at = readings.map((reading) => reading.resets_at).reduce((a, b) => (a > b ? a : b), '');
  if (resets_at === '') return undefined;
  const own = readings.filter((reading) => reading.resets_at === resets_at);
  const sums = USAGE_METRICS.map((metric) => [
    metric,
    own.reduce((sum, reading) => sum + (reading[metric] ?? 0), 0),
  ]);
  return { resets_at, ...Object.fromEntries(sums), limits };
}

function isSame(a: UsageReading | undefined, b: UsageReading): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** An invocation that ends early is needed for this much longer when a figure has moved. */
const LOOK_MS = 500;

/** What could not be written is looked at again, because the figures wait until it was. */
export async function watchUsageRepeatedly(
  deps: InvocationDeps,
  { projects, listings, addedNow }: Discovery,
): Promise<void> {
  const { usage, clock, signal, telemetry } = deps;
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal).catch(() => {});
    if (signal.aborted) return;
    // A page is taken before the projects that it shows for the first time are known.
    const knownIds = listings.hasEnded ? new Set([...projects.memories.keys(), ...addedNow]) : undefined;
    await usage.write(deps, knownIds).catch((error: unknown) => {
      telemetry.log('warn', 'project_usage.not_written', { reason: toError(error).name });
    });
  }
}
