/**
 * Reads from one page of a project's operations how soon the next transition is to be expected: since when one is open, how long each
 * compute was used, and how many operations began in each of the last days.
 */

import { isTerminal, type Operation } from '../../../shared/records/operation-record.ts';
import { DAY_MS } from '../../../shared/records/time.ts';

/** Says how many operations began in which time. Suspends are left out, because a running compute announces them. */
export interface ArrivalHistory {
  readonly arrivalCount: number;
  readonly observedMs: number;
}

/** Says from when to when a compute was used, by the upstream's clock, in milliseconds since the epoch. */
export interface ComputeUse {
  readonly computeId: string;
  readonly beganMs: number;
  /** The suspend of the compute began at this time. It is undefined for a compute that runs. */
  readonly endedMs: number | undefined;
}

/**
 * Describes what one page shows. `observedMs` is the time for which it counts the operations, and is a week when the list ends before
 * that.
 */
export interface ProjectActivity extends ArrivalHistory {
  /** The youngest open operation was created at this time, by the upstream's clock. It is undefined when none is open. */
  readonly openSinceMs: number | undefined;
  /** The newest use of a compute comes first. */
  readonly uses: readonly ComputeUse[];
}

export type ActivityRow = Pick<
  Operation,
  'action' | 'status' | 'endpoint_id' | 'branch_id' | 'created_at' | 'updated_at'
>;

const SUSPEND_ACTION = 'suspend_compute';
const START_ACTION = 'start_compute';

/** `rows` are newest first. `isWhole` says that the list ends with them. `nowMs` is in milliseconds since the epoch. */
export function activityOf(rows: readonly ActivityRow[], isWhole: boolean, nowMs: number): ProjectActivity {
  const reader = createUseReader();
  const arrivals = createDailyArrivals(nowMs);
  let openSinceMs: number | undefined;
  for (const row of rows) {
    const createdMs = Date.parse(row.created_at);
    if (!arrivals.take(createdMs, row.action !== SUSPEND_ACTION)) break;
    if (createdMs < nowMs - DAY_MS) continue;
    if (!isTerminal(row.status)) openSinceMs ??= createdMs;
    reader.take(row, createdMs);
  }
  return { openSinceMs, uses: reader.uses, ...arrivals.history(isWhole) };
}

/** Reads how long each compute was used: from the end of its start to its suspend. */
function createUseReader() {
  const uses: ComputeUse[] = [];
  /** Says when the suspend began that follows in time. It is undefined when another start does. */
  const nextSuspendMs = new Map<string, number | undefined>();

  return {
    uses,
    /** Takes the rows one after the other, the newest first. */
    take({ action, status, updated_at, endpoint_id, branch_id }: ActivityRow, createdMs: number): void {
      if (action !== SUSPEND_ACTION && action !== START_ACTION) return;
      const computeId = endpoint_id ?? branch_id ?? '';
      const hasNewer = nextSuspendMs.has(computeId);
      const endedMs = nextSuspendMs.get(computeId);
      nextSuspendMs.set(computeId, action === SUSPEND_ACTION ? createdMs : undefined);
      if (action !== START_ACTION || !isTerminal(status) || (hasNewer && endedMs === undefined)) return;
      const updatedMs = Date.parse(updated_at);
      // An end that cannot be read, or that lies before the beginning, would spoil what is learned of all uses.
      uses.push({ computeId, beganMs: updatedMs >= createdMs ? updatedMs : createdMs, endedMs });
    },
  };
}

/** What is older than a week says little about today. */
const DAYS_MAX = 7;

/**
 * The last day counts, and further days do until there are this many operations: a rate of yesterday says more than one of last week,
 * but one day of a quiet project is mostly chance. Whole days are counted, because most work follows the hours of the day.
 */
const ARRIVALS_ENOUGH = 16;

/** A page that fills up within a minute shows a burst, which says little about the day. */
const OBSERVED_MS_MIN = 60_000;

/** Counts how many operations began in each of the last days, as far as one page shows them. */
function createDailyArrivals(nowMs: number) {
  /** The first of the counts is that of the last 24 hours. A day without an operation has no count. */
  const counts: number[] = [];
  let arrivalCount = 0;
  /** The page shows everything since this number of milliseconds. */
  let reachMs = 0;

  return {
    /** Takes the rows, the newest first. Returns false once the rows that follow cannot change the result. */
    take(createdMs: number, isArrival: boolean): boolean {
      // A time that cannot be read ends the page, and the rows before it count for a day.
      const ageMs = Number.isNaN(createdMs) ? DAY_MS : nowMs - createdMs;
      reachMs = Math.max(reachMs, ageMs);
      const day = Math.max(0, Math.ceil(ageMs / DAY_MS) - 1);
      const isEnough = day >= counts.length && arrivalCount >= ARRIVALS_ENOUGH;
      if (Number.isNaN(createdMs) || day >= DAYS_MAX || isEnough) return false;
      if (!isArrival) return true;
      counts[day] = (counts[day] ?? 0) + 1;
      arrivalCount += 1;
      return true;
    },
    /** `isWhole` says that the list ends with the page: then nothing happened before its oldest row. */
    history(isWhole: boolean): ArrivalHistory {
      const wholeDays = isWhole ? DAYS_MAX : Math.min(DAYS_MAX, Math.floor(reachMs / DAY_MS));
      if (wholeDays === 0) return { arrivalCount, observedMs: Math.max(OBSERVED_MS_MIN, reachMs) };
      let days = 0;
      let counted = 0;
      while (days < wholeDays && counted < ARRIVALS_ENOUGH) counted += counts[days++] ?? 0;
      return { arrivalCount: counted, observedMs: days * DAY_MS };
    },
  };
}
