/**
 * Decides what is told and kept of the usage of a project, or of an account: each threshold of a limit is told once in
 * a billing period, which has the time of its end for a name.
 */

import * as z from 'zod';
import { append, isJournalFull, type Journal, withEventId } from './journal.ts';
import type { Unchangeable, UsageCrossedEntry } from './journal-entries.ts';
import { HOUR_MS, isoTimeOf } from './time.ts';

/** The upstream's quotas have these names. A compute of two units takes two compute seconds in each active second. */
export const USAGE_METRICS = ['active_time_seconds', 'compute_time_seconds'] as const;

type UsageMetric = (typeof USAGE_METRICS)[number];

const figures = { active_time_seconds: z.number().optional(), compute_time_seconds: z.number().optional() };

const limit = z.object({
  metric: z.enum(USAGE_METRICS),
  limit: z.number(),
  /** Both may limit one metric. The upstream suspends a project by its quota alone. */
  limit_from: z.enum(['quota', 'configuration']),
  /** The highest threshold that was told of this limit in the period, and what was used then. */
  told: z.object({ threshold_percent: z.number(), used: z.number() }).optional(),
});

/** A record keeps this. */
export const usageSchema = z.object({
  /** The period ends then, ISO 8601. */
  resets_at: z.string(),
  /** The figures were read at this time, ISO 8601. Within a period the figures never fall. */
  read_at: z.string(),
  ...figures,
  limits: z.array(limit),
  /**
   * The compute seconds of the period up to the end of each day (UTC). The first entry says from where the day behind it
   * counts, because the bridge did not see what was before. It is absent where no history is kept.
   */
  days: z.record(z.string(), z.number()).optional(),
});

export type Usage = Unchangeable<z.output<typeof usageSchema>>;
export type UsageFigures = { readonly [Metric in UsageMetric]?: number | undefined };
export type UsageLimit = Unchangeable<z.output<typeof limit>>;

/** Says what the project list shows of one project, or of all projects together. */
export interface UsageReading extends UsageFigures {
  readonly resets_at: string;
  readonly limits: readonly UsageLimit[];
}

export interface UsageRules {
  readonly thresholds_percent: readonly number[];
  readonly keeps_history: boolean;
}

/** A history of days is written at most this often. */
const HISTORY_STEP_MS = 6 * HOUR_MS;

/** At most this many days of a period are kept, with some 20 bytes for each. A usual period has a month. */
export const USAGE_DAYS_MAX = 62;

/** It stands before every day. */
const FIRST_DAY = '0';

/** No billing period is longer. A later end is a mistake of the service, behind which no true period would be believed. */
const PERIOD_MS_MAX = 367 * 24 * HOUR_MS;

/** Returns the end of the period as it is compared and kept, or undefined when the text does not say one. */
export function periodEndOf(text: unknown, nowMs: number): string | undefined {
  const endMs = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(endMs) || endMs > nowMs + PERIOD_MS_MAX ? undefined : isoTimeOf(endMs);
}

type Crossing = Omit<UsageCrossedEntry, 'type' | 'id' | 'revision' | 'observed_at'>;

/** Returns undefined when nothing is to be told or written. `before` is undefined when nothing was kept. */
export function usageAfter(
  before: Usage | undefined,
  reading: UsageReading,
  { thresholds_percent, keeps_history }: UsageRules,
  nowMs: number,
): { readonly usage: Usage; readonly crossings: readonly Crossing[] } | undefined {
  const { resets_at } = reading;
  // An answer of a replica that lags may still be about the period before.
  if (before !== undefined && resets_at < before.resets_at) return undefined;
  const known = before?.resets_at === resets_at ? before : undefined;
  const used = highestOf(known, reading);
  const crossings: Crossing[] = [];
  const limits = reading.limits.map((each) => {
    const told = toldOf(known, each, thresholds_percent);
    const figure = used[each.metric] ?? 0;
    const threshold_percent = highestThreshold(figure, each.limit, thresholds_percent);
    if (threshold_percent <= (told?.threshold_percent ?? 0)) return { ...each, ...(told && { told }) };
    const percent = Math.floor((100 * figure) / each.limit);
    crossings.push({ ...each, used: figure, percent, threshold_percent, resets_at });
    return { ...each, told: { threshold_percent, used: figure } };
  });
  if (crossings.length === 0 && !(keeps_history && isStepDue(known, used, nowMs))) return undefined;
  const read_at = isoTimeOf(nowMs);
  const days = keeps_history ? daysAfter(before, known, used, read_at.slice(0, 10)) : undefined;
  return { usage: { resets_at, read_at, ...used, limits, ...(days && { days }) }, crossings };
}

function highestOf(known: Usage | undefined, reading: UsageReading): UsageFigures {
  const values = USAGE_METRICS.flatMap((metric) => {
    const [a, b] = [known?.[metric], reading[metric]];
    return a === undefined && b === undefined ? [] : [[metric, Math.max(a ?? 0, b ?? 0)] as const];
  });
  return Object.fromEntries(values);
}

/** Without a threshold that is reached it returns 0. */
function highestThreshold(used: number, ofLimit: number, thresholds: readonly number[]): number {
  return Math.max(0, ...thresholds.filter((threshold) => used * 100 >= threshold * ofLimit));
}

/**
 * Returns what was told of the limit. After the limit was raised, only those thresholds count as told that were reached
 * of the new limit, too.
 */
function toldOf(
  known: Usage | undefined,
  { metric, limit_from, limit: ofLimit }: UsageLimit,
  thresholds: readonly number[],
): UsageLimit['told'] {
  const before = known?.limits.find((each) => each.metric === metric && each.limit_from === limit_from);
  if (before?.told === undefined || before.limit >= ofLimit) return before?.told;
  const threshold_percent = highestThreshold(before.told.used, ofLimit, thresholds);
  return threshold_percent === 0 ? undefined : { ...before.told, threshold_percent };
}

function isStepDue(known: Usage | undefined, used: UsageFigures, nowMs: number): boolean {
  if (known?.days === undefined) return true;
  return hasMoved(known, used) && nowMs - Date.parse(known.read_at) >= HISTORY_STEP_MS;
}

/** Says whether more is used than what is kept says. */
export function hasMoved(kept: UsageFigures | undefined, used: UsageFigures): boolean {
  return USAGE_METRICS.some((metric) => (used[metric] ?? 0) > (kept?.[metric] ?? 0));
}

function daysAfter(
  before: Usage | undefined,
  known: Usage | undefined,
  { compute_time_seconds: seconds }: UsageFigures,
  day: string,
): Usage['days'] {
  if (seconds === undefined) return undefined;
  // A period that follows one that was watched was watched from its beginning.
  const first = { [FIRST_DAY]: known === undefined && before?.days !== undefined ? 0 : seconds };
  const days = inOrder({ ...(known?.days ?? first), [day]: seconds });
  return Object.fromEntries(days.slice(-USAGE_DAYS_MAX - 1));
}

function inOrder(days: NonNullable<Usage['days']>): readonly (readonly [string, number])[] {
  return Object.entries(days).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** Returns the compute hours of each day of the period on which the history was written, the first day first. */
export function computeHoursByDay({ days = {} }: Usage): readonly { day: string; hours: number }[] {
  const all = inOrder(days);
  return all.slice(1).map(([day, seconds], place) => ({
    day,
    hours: Math.round((seconds - (all[place]?.[1] ?? 0)) / 36) / 100,
  }));
}

/** A record of a project, or of an account, has this. */
interface UsingRecord extends Journal {
  readonly account_id: string;
  readonly project_id?: string;
  readonly usage?: Usage | undefined;
}

/** Returns undefined when nothing is to be written, or when the journal has no room before the bus has taken entries. */
export function decideUsage<R extends UsingRecord>(
  recorded: R,
  reading: UsageReading,
  rules: UsageRules,
  nowMs: number,
): R | undefined {
  const change = usageAfter(recorded.usage, reading, rules, nowMs);
  if (change === undefined || isJournalFull(recorded)) return undefined;
  const { account_id, project_id } = recorded;
  const identity = [account_id, ...(project_id === undefined ? [] : [project_id])];
  let journal: Journal = recorded;
  for (const crossing of change.crossings) {
    const revision = journal.revision + 1;
    const entry = { type: 'usage_crossed' as const, revision, observed_at: isoTimeOf(nowMs), ...crossing };
    journal = append(journal, withEventId(identity, entry));
  }
  const { revision, published, entries, foreign } = journal;
  return { ...recorded, revision, published, entries, ...(foreign && { foreign }), usage: change.usage };
}
