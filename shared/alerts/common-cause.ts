/**
 * Says by one rule, for alerts and for pages, whether projects that fail alike probably fail because of the service: far
 * more of them began to fail within minutes than usually do.
 */

import type { DayInsights } from '../insights/day-insights.ts';
import { createInsightsStore } from '../insights/day-insights.ts';
import { type CountedHour, createHourCountsStore, hourStartMs } from '../insights/hour-counts.ts';
import { HOUR_MS, MINUTE_MS } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { incidentsListOf } from '../store/keys.ts';
import { LIST_INDEX, type Table, type TableIndexes } from '../store/table.ts';
import type { NoteUnreadable } from '../store/unreadable.ts';
import { keyPart, subjectOfIncident } from './incidents.ts';

/** A fault of the service shows in all projects within minutes, so only incidents that began this close together count. */
export const TOGETHER_MS = 10 * MINUTE_MS;

/** Two projects can fail together because one person changed both. */
const PROJECTS_MIN = 3;

/** A person on call trusts the alert only if it is hardly ever wrong. */
const CHANCE_MAX = 0.001;

/** An hour can be busier, and a day worse, than those before, without the service being at fault. */
const MARGIN = 2;

/** From fewer operations than this, no share of failures is derived. */
const OPERATIONS_MIN = 50;

/** The first minutes of an hour are too few to derive a rate from. */
const ELAPSED_MS_MIN = 10 * MINUTE_MS;

/**
 * Returns whether `projectCount` projects are unlikely to have begun to fail independently of each other: less than once
 * in a thousand times, even if twice as many failed as usual. `usualCount` is how many usually do in such a time.
 */
export function isServiceLikely(projectCount: number, usualCount: number): boolean {
  return projectCount >= PROJECTS_MIN && chanceOfAtLeast(projectCount, MARGIN * usualCount) < CHANCE_MAX;
}

/** Returns the chance of `count` or more events when `mean` are expected and they are independent (Poisson distribution). */
function chanceOfAtLeast(count: number, mean: number): number {
  if (mean >= count) return 1;
  let logTerm = -mean;
  let below = 0;
  for (let each = 0; each < count; each++) {
    below += Math.exp(logTerm);
    logTerm += Math.log(mean / (each + 1));
  }
  return Math.max(0, 1 - below);
}

/**
 * Returns how many operations of the action usually begin to fail within a minute in the whole account: how many begin
 * now, times the share of the action among all, times the share of it that fails. The shares are those of seven days.
 * `hours` are the present hour and the one before. Returns undefined while too little is known.
 */
function usualFailuresPerMinute(
  action: string,
  days: readonly DayInsights[],
  hours: readonly CountedHour[],
  nowMs: number,
): number | undefined {
  const bins = days.flatMap((day) => [...day].map(([name, { attempts }]) => ({ name, attempts })));
  const endedCount = sumOf(bins.map(({ attempts }) => sumOf(Object.values(attempts))));
  const own = bins.filter(({ name }) => name === action);
  const ownCount = sumOf(own.map(({ attempts }) => sumOf(Object.values(attempts))));
  if (ownCount < OPERATIONS_MIN) return undefined;
  // The bin 0 has the operations that needed one attempt.
  const failedCount = ownCount - sumOf(own.map(({ attempts }) => attempts['0'] ?? 0));
  // One failure more than was seen keeps the share above zero.
  const failingShare = (failedCount + 1) / (ownCount + 1);
  return startsPerMinute(hours, nowMs) * (ownCount / endedCount) * failingShare;
}

/** Returns the higher rate of the two hours, because the present one may have just begun, and so may the bridge. */
function startsPerMinute(hours: readonly CountedHour[], nowMs: number): number {
  const rates = hours.map(({ hour, counts }) => {
    const elapsedMs = Math.min(60 * MINUTE_MS, nowMs - hourStartMs(hour));
    return elapsedMs < ELAPSED_MS_MIN ? 0 : counts.started_count / (elapsedMs / MINUTE_MS);
  });
  return Math.max(0, ...rates);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** An incident of the account that has not ended, as its place in the list of open ones says. */
interface OpenIncident {
  /** The name is that of `incidentOf`. */
  readonly name: string;
  readonly began_at: string;
  /** Both are parts of a key: texts of the upstream, or hashes of unusual ones. */
  readonly project_id?: string | undefined;
  readonly action?: string | undefined;
}

export interface OpenIncidents {
  readonly incidents: readonly OpenIncident[];
  /** When true, there are more of them than were read. */
  readonly isCut: boolean;
}

/** The numbers of `Alike`, as an alert keeps them. */
interface AlikeCounted {
  readonly project_count: number;
  readonly is_least?: boolean | undefined;
  readonly usual_count?: number | undefined;
  readonly is_service?: boolean | undefined;
}

/** Says how many other projects fail alike: the same action began to fail there at about the same time, and fails still. */
export interface Alike {
  readonly project_count: number;
  /** The first of them began at this time (ISO 8601). */
  readonly since: string;
  readonly is_least?: true;
  /** This number of projects usually begins to fail in that time. It is absent while too little is known. */
  readonly usual_count?: number;
  /** It is true when far more projects fail than usually do, so that the cause is probably the service. */
  readonly is_service?: true;
}

export interface Surroundings {
  readonly open: OpenIncidents;
  /** This number of operations of the action usually begins to fail within a minute. It is undefined while too little is known. */
  readonly usualPerMinute: number | undefined;
}

/** What began to fail, and when, in milliseconds since the epoch. */
export interface Begun {
  readonly project_id?: string | undefined;
  readonly action?: string | undefined;
  readonly beganMs: number;
}

/** Counts the other projects in which the action began to fail at about the same time, and fails still. */
export function alikeOf(
  { project_id: own = '', action = '', beganMs }: Begun,
  { open, usualPerMinute }: Surroundings,
  nowMs: number,
): Alike | undefined {
  const others = open.incidents.filter(
    (other) =>
      other.action === keyPart(action) &&
      other.project_id !== keyPart(own) &&
      Math.abs(Date.parse(other.began_at) - beganMs) <= TOGETHER_MS,
  );
  const [since] = others.map(({ began_at }) => began_at).toSorted();
  if (since === undefined) return undefined;
  const project_count = new Set(others.map(({ project_id }) => project_id)).size;
  const spanMs = Math.max(0, Math.min(nowMs, beganMs + TOGETHER_MS) - (beganMs - TOGETHER_MS));
  const usual_count = usualPerMinute === undefined ? undefined : usualPerMinute * (spanMs / MINUTE_MS);
  return {
    project_count,
    since,
    ...(open.isCut && { is_least: true }),
    ...(usual_count !== undefined && {
      usual_count: Math.round(usual_count * 10) / 10,
      ...(isServiceLikely(project_count, usual_count) && { is_service: true }),
    }),
  };
}

/** One alert reads at most this many, which is one page of the index. More of them say no more to a person. */
export const OPEN_INCIDENTS_MAX = 500;

export async function readOpenIncidents(
  indexes: TableIndexes,
  accountId: string,
  sinceMs: number,
): Promise<OpenIncidents> {
  const { keys, next } = await indexes.query({
    index: LIST_INDEX,
    partition: incidentsListOf(accountId, 'open'),
    after: new Date(sinceMs).toISOString(),
    limit: OPEN_INCIDENTS_MAX,
  });
  return { incidents: keys.map(({ sortKey }) => openIncidentOf(sortKey)), isCut: next !== undefined };
}

function openIncidentOf(order: string): OpenIncident {
  const [began_at = '', name = ''] = order.split(' ');
  const { project_id, action } = subjectOfIncident(name);
  return { name, began_at, project_id, action };
}

/** What is usual changes over hours, and each reading takes nine items. */
const REREAD_MS = 5 * MINUTE_MS;

/** Resolves to failures a minute, and to undefined while too little is known. Rejects when the items cannot be read. */
export type UsualFailures = (accountId: string, action: string) => Promise<number | undefined>;

interface Remembered {
  readonly readAtMs: number;
  readonly days: readonly DayInsights[];
  readonly hours: readonly CountedHour[];
}

/** Remembers what it read for each account. There are as many accounts as the configuration names. */
export function createUsualFailures(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable,
): UsualFailures {
  const remembered = new Map<string, Remembered>();

  async function read(accountId: string): Promise<Remembered> {
    const nowMs = clock.now();
    const counts = createHourCountsStore(table, accountId, noteUnreadable);
    return {
      readAtMs: nowMs,
      days: await createInsightsStore(table, accountId, noteUnreadable).readDays(undefined, nowMs),
      hours: await counts.readHours(nowMs, { fromMs: nowMs - HOUR_MS, untilMs: nowMs + 1 }),
    };
  }

  return async (accountId, action) => {
    const nowMs = clock.now();
    const known = remembered.get(accountId);
    const found = known !== undefined && nowMs - known.readAtMs < REREAD_MS ? known : await read(accountId);
    remembered.set(accountId, found);
    return usualFailuresPerMinute(action, found.days, found.hours, found.readAtMs);
  };
}

export type AlikeNow = (accountId: string, begun: Begun) => Promise<Alike | undefined>;

/** Returns who fails alike now, for a page that is about one operation. Rejects when the table does. */
export function createAlikeNow(
  table: Table,
  indexes: TableIndexes,
  { clock, noteUnreadable }: { readonly clock: Clock; readonly noteUnreadable: NoteUnreadable },
): AlikeNow {
  const usualFailuresOf = createUsualFailures(table, clock, noteUnreadable);
  return async (accountId, begun) => {
    const [open, usualPerMinute] = await Promise.all([
      readOpenIncidents(indexes, accountId, begun.beganMs - TOGETHER_MS),
      usualFailuresOf(accountId, begun.action ?? ''),
    ]);
    return alikeOf(begun, { open, usualPerMinute }, clock.now());
  };
}

/** Returns a text such as `12 other projects, usually about 2: probably the service`. */
export function alikeWords({ project_count, is_least, usual_count, is_service }: AlikeCounted): string {
  const projects = project_count === 1 ? '1 other project' : `${project_count} other projects`;
  const usual = usual_count === undefined ? '' : `, ${usualCountWords(usual_count)}`;
  const cause = is_service ? ': probably the service' : '';
  return `${is_least ? 'at least ' : ''}${projects}${usual}${cause}`;
}

export function usualCountWords(count: number): string {
  return count < 0.5 ? 'usually none' : `usually about ${Math.round(count)}`;
}
