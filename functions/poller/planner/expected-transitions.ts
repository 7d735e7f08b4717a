/**
 * Says how many transitions are expected in a project between two instants, given what its readings showed. Three kinds are expected:
 * operations that begin, at the rate that the project's pages have shown; the end of an operation that is open; and the suspend of
 * a compute that runs, after as long as the computes of the account usually run, or when a list of the project's computes says.
 */

import type { RunningCompute } from '../../../shared/records/compute-state.ts';
import { DAY_MS, MINUTE_MS } from '../../../shared/records/time.ts';
import { type AssumedEnds, createLearnedEnds } from './learned-ends.ts';
import type { ArrivalHistory, ComputeUse, ProjectActivity } from './project-activity.ts';

/** Holds what is known of one project, by our clock, in milliseconds since the epoch. */
export interface KnownProject {
  history: ArrivalHistory | undefined;
  /** The transitions per millisecond that are expected while nothing is open or runs. */
  coldPerMs: number;
  openSinceMs: number | undefined;
  running: readonly Running[];
  /** The last page was read at this time. It is -Infinity when there was no page. */
  learnedMs: number;
  /** The last end of a use that a page has shown, by the upstream's clock, so that clocks that differ let no end count twice. */
  shownEndMs: number;
}

/** A compute that runs, as the last page and perhaps a list of the project's computes have shown it. */
interface Running {
  readonly id: string;
  readonly sinceMs: number;
  readonly listed: Listed | undefined;
}

/** Says what a list of computes has shown of one that runs. */
interface Listed {
  /** The list was read at this time. */
  readonly readMs: number;
  /**
   * The compute is suspended at this time unless it is used until then. It is infinite when the compute is never suspended, and
   * undefined when the list says nothing that can be true.
   */
  readonly suspendMs: number | undefined;
  /** The service knew of no activity in the minute before, so the compute is taken to be unused. */
  readonly isUnused: boolean;
}

export interface Expectations {
  /** Gives a project that no process has read, or an earlier one, what is expected of it. */
  welcome(history: ArrivalHistory | undefined): KnownProject;
  forget(project: KnownProject): void;
  learn(project: KnownProject, activity: ProjectActivity, nowMs: number): void;
  /**
   * Takes the running computes that a list of the project's computes showed. Returns true when a compute has stopped that ran when
   * the project was polled.
   */
  learnComputes(project: KnownProject, listed: readonly RunningCompute[], nowMs: number): boolean;
  /** Returns how many transitions are expected between two instants of which the first is not before the last reading. */
  between(project: KnownProject, fromMs: number, toMs: number): number;
  /** Returns how many of them are of suspends. */
  suspendsBetween(project: KnownProject, fromMs: number, toMs: number): number;
  /** Returns how many transitions per millisecond the open operation and the running computes of the project add. */
  hotPerMs(project: KnownProject, nowMs: number): number;
  /** Returns from when on a list of the project's computes would say something new, or infinity. */
  listWorthAtMs(project: KnownProject): number;
  /** Learns whether a poll has found something that began in a project in which nothing was open or ran for `ageMs`. */
  noteFind(project: KnownProject, ageMs: number, hasFound: boolean): void;
  /** Returns how many times as much begins at present as the rates of the projects say, and at least 1. */
  intensity(): number;
  /** Returns for how long after a list was read no suspend is expected, as the last lists have shown it. */
  quietMs(): number;
}

/** One operation is scheduled, runs and ends, and often another one follows it. This is the mean number of their transitions. */
const TRANSITIONS_PER_ARRIVAL = 3.75;

/** An operation that suspends a compute shows three states. */
export const TRANSITIONS_PER_SUSPEND = 3;

/** The bridge assumes eight operations a day before it has seen any, which weigh as much as one day of one project. */
const ARRIVALS_A_DAY_ASSUMED = 8;

/** A project is assumed to have had half an operation at the account's mean rate beside what it has shown. */
const PRIOR_ARRIVALS = 0.5;

/** At least this share of the assumed rate is expected of any project: in each of them something can happen at any time. */
const RATE_SHARE_MIN = 1e-3;

/**
 * A deployment or a migration begins something in all projects of an account within minutes. About so many polls say how much more begins now
 * than usual, and as many finds as these are assumed beside them. With 5,000 projects this takes a tenth off the mean delay of such an account.
 */
const INTENSITY_POLLS = 300;
const INTENSITY_PRIOR_FINDS = 10;

/** Activity that is younger may be activity that goes on, because the service need not notice each use at once. */
const RECENT_MS = 60_000;

/** A compute that still runs this long after its instant contradicts the list that shows no activity since. */
const CONTRADICTED_AFTER_MS = 120_000;

/** Two readings because of one compute are at least this far apart. */
const LISTED_GAP_MS_MIN = 30_000;

/** An unused compute that runs this long after its instant has been used again, so another reading says something new. */
const USED_AGAIN_AFTER_MS = 45_000;

/** Where a list said nothing that can be true, or that a compute is never suspended, it is read again after this time. */
const RETRY_AFTER_MS = 600_000;
const NEVER_FOR_MS = 3_600_000;

/** Each compute that a list shows counts for this share of the quiet time that is expected after the next ones. */
const QUIET_SHARE = 0.05;
const QUIET_MS_ASSUMED = 300_000;
const [QUIET_MS_MIN, QUIET_MS_MAX] = [60_000, 3_600_000];

/** A compute is suspended five minutes after its last use unless it was set otherwise (specification, "Compute state"). */
const SUSPEND_AFTER_MS = 5 * MINUTE_MS;

/** A compute is assumed to be used for four minutes on average beyond its start, until the account shows otherwise. */
const USE_MS_ASSUMED = 4 * MINUTE_MS;

/** Each of the first minutes has a span of its own, because people set the time until a suspend in whole minutes. */
const USE_EDGES_MIN = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 45, 60, 90, 120, 240, 480];

/** How long computes are used is read from pages that are polled anyway: a new process knows it after one round, and nothing is stored. */
const COMPUTE_USE: AssumedEnds = {
  edgesMs: USE_EDGES_MIN.map((minutes) => minutes * MINUTE_MS),
  perMs: (ageMs) => (ageMs >= SUSPEND_AFTER_MS ? 1 / USE_MS_ASSUMED : 0),
  priorMs: USE_MS_ASSUMED,
};

/** An operation of age t ends at a rate of about 1 / t, because durations are heavy-tailed. This keeps the rate of a new one finite. */
const OPEN_AGE_OFFSET_MS = 1_500;

/** Returns how many ends are expected of an open operation between two ages. Those below 0 come from clocks that differ, and count as 0. */
function operationEndsBetween(fromAgeMs: number, toAgeMs: number): number {
  return Math.log(
    (OPEN_AGE_OFFSET_MS + Math.max(0, toAgeMs)) / (OPEN_AGE_OFFSET_MS + Math.max(0, fromAgeMs)),
  );
}

/** Ages are counted from this long before the instant that a list named, because suspends may come too early, too. */
const EARLY_MS = 300_000;
const EDGES_S = [-300, -30, -5, 0, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600];

/** An unused compute is assumed to be suspended within about this time of its instant, and for a minute after it. */
const SUSPEND_MS_ASSUMED = 15_000;
const SUSPENDING_MS = 60_000;

const assumedAfter = (meanMsAt: (lateMs: number) => number): AssumedEnds => ({
  edgesMs: EDGES_S.map((seconds) => seconds * 1_000 + EARLY_MS),
  perMs: (ageMs) => (ageMs < EARLY_MS ? 0 : 1 / meanMsAt(ageMs - EARLY_MS)),
  priorMs: USE_MS_ASSUMED,
});

/** Learns how often something begins in a project. */
function createArrivalRates() {
  /** Counts the operations of all projects together, each for a day at most, which is the prior belief about one that has shown none. */
  const all = { arrivalCount: ARRIVALS_A_DAY_ASSUMED, observedMs: DAY_MS };
  return {
    /** The mean of the Gamma posterior. */
    perMs(history: ArrivalHistory | undefined): number {
      const { arrivalCount, observedMs } = history ?? { arrivalCount: 0, observedMs: 0 };
      const priorMs = (PRIOR_ARRIVALS * all.observedMs) / all.arrivalCount;
      const perMs = (arrivalCount + PRIOR_ARRIVALS) / (observedMs + priorMs);
      return TRANSITIONS_PER_ARRIVAL * Math.max((RATE_SHARE_MIN * ARRIVALS_A_DAY_ASSUMED) / DAY_MS, perMs);
    },
    /** Quiet projects are known for a longer time, and must not count for more than busy ones. */
    count(history: ArrivalHistory | undefined, sign: 1 | -1): void {
      if (history === undefined) return;
      const share = sign * Math.min(1, DAY_MS / history.observedMs);
      all.arrivalCount += share * history.arrivalCount;
      all.observedMs += share * history.observedMs;
    },
  };
}

/** Nothing is open in the project, and no compute of it runs. */
export function isCold({ openSinceMs, running }: KnownProject): boolean {
  return openSinceMs === undefined && running.length === 0;
}

/** Learns whether more begins at present than the rates of the projects say. */
function createIntensity() {
  let foundCount = 0;
  let expectedCount = 0;
  return {
    note(expectedFinds: number, hasFound: boolean): void {
      const kept = 1 - 1 / INTENSITY_POLLS;
      foundCount = kept * foundCount + Number(hasFound);
      expectedCount = kept * expectedCount + expectedFinds;
    },
    value: () => Math.max(1, (foundCount + INTENSITY_PRIOR_FINDS) / (expectedCount + INTENSITY_PRIOR_FINDS)),
  };
}

export function createExpectations(): Expectations {
  const uses = createLearnedEnds(COMPUTE_USE);
  const unused = createLearnedEnds(
    assumedAfter((lateMs) => (lateMs < SUSPENDING_MS ? SUSPEND_MS_ASSUMED : USE_MS_ASSUMED)),
  );
  const used = createLearnedEnds(assumedAfter(() => USE_MS_ASSUMED));
  const arrivals = createArrivalRates();
  const intensity = createIntensity();
  let quietMs = QUIET_MS_ASSUMED;

  return {
    welcome(history) {
      arrivals.count(history, 1);
      return {
        history,
        coldPerMs: arrivals.perMs(history),
        openSinceMs: undefined,
        running: [],
        learnedMs: Number.NEGATIVE_INFINITY,
        shownEndMs: Number.NEGATIVE_INFINITY,
      };
    },
    forget: ({ history }) => arrivals.count(history, -1),
    learn(project, activity, nowMs) {
      const { arrivalCount, observedMs } = activity;
      for (const use of activity.uses) noteUse(use, project, nowMs);
      const ends = new Map<string, number>();
      for (const { computeId, endedMs } of activity.uses) {
        if (endedMs === undefined) continue;
        project.shownEndMs = Math.max(project.shownEndMs, endedMs);
        // The newest use of a compute comes first.
        if (!ends.has(computeId)) ends.set(computeId, endedMs);
      }
      for (const each of project.running) noteListed(each, ends.get(each.id), project.learnedMs, nowMs);
      const before = new Map(project.running.map(({ id, listed }) => [id, listed]));
      project.running = activity.uses
        .filter(({ endedMs }) => endedMs === undefined)
        .map(({ computeId: id, beganMs: sinceMs }) => {
          const listed = before.get(id);
          // What a list showed before the compute was started again says nothing of it.
          return {
            id,
            sinceMs,
            listed: listed !== undefined && sinceMs <= listed.readMs ? listed : undefined,
          };
        });
      arrivals.count(project.history, -1);
      project.history = { arrivalCount, observedMs };
      arrivals.count(project.history, 1);
      project.coldPerMs = arrivals.perMs(project.history);
      project.openSinceMs = activity.openSinceMs;
      project.learnedMs = nowMs;
    },
    learnComputes(project, rows, nowMs) {
      const listed = new Map(rows.map((row) => [row.id, listedAt(row, nowMs)]));
      for (const { suspendMs } of listed.values()) {
        if (suspendMs === undefined) continue;
        const latestMs = Math.min(QUIET_MS_MAX, Math.max(QUIET_MS_MIN, suspendMs - nowMs));
        quietMs += QUIET_SHARE * (latestMs - quietMs);
      }
      const missing = { readMs: nowMs, suspendMs: undefined, isUnused: false };
      project.running = project.running.map((each) => ({ ...each, listed: listed.get(each.id) ?? missing }));
      // A compute that was started a moment ago may be missing in a list that was read at the same time.
      return project.running.some(({ id, sinceMs }) => !listed.has(id) && sinceMs <= nowMs - RECENT_MS);
    },
    between,
    suspendsBetween,
    hotPerMs: (project, nowMs) => between(project, nowMs, nowMs + 1_000) / 1_000 - project.coldPerMs,
    listWorthAtMs({ running }) {
      let atMs = Number.POSITIVE_INFINITY;
      for (const { sinceMs, listed } of running)
        atMs = Math.min(atMs, listed === undefined ? sinceMs + (uses.firstRiseMs() ?? 0) : staleMs(listed));
      return atMs;
    },
    noteFind(project, ageMs, hasFound) {
      if (!isCold(project) || !Number.isFinite(ageMs)) return;
      const arrivalCount = (project.coldPerMs * ageMs) / TRANSITIONS_PER_ARRIVAL;
      intensity.note(1 - Math.exp(-arrivalCount), hasFound);
    },
    intensity: intensity.value,
    quietMs: () => quietMs,
  };

  function between(project: KnownProject, fromMs: number, toMs: number): number {
    const { coldPerMs: perMs, openSinceMs, running } = project;
    let sum = perMs * (toMs - fromMs);
    if (openSinceMs !== undefined) sum += operationEndsBetween(fromMs - openSinceMs, toMs - openSinceMs);
    return running.length === 0 ? sum : sum + suspendsBetween(project, fromMs, toMs);
  }

  function suspendsBetween({ running }: KnownProject, fromMs: number, toMs: number): number {
    let sum = 0;
    for (const { sinceMs, listed } of running) {
      const suspendMs = listed?.suspendMs;
      if (suspendMs === undefined) sum += uses.between(fromMs - sinceMs, toMs - sinceMs);
      else if (Number.isFinite(suspendMs)) {
        const ends = listed?.isUnused === true ? unused : used;
        sum += ends.between(fromMs - suspendMs + EARLY_MS, toMs - suspendMs + EARLY_MS);
      }
    }
    return sum * TRANSITIONS_PER_SUSPEND;
  }

  /** Learns from a page what has happened since the page of the project before. */
  function noteUse({ beganMs, endedMs }: ComputeUse, { learnedMs, shownEndMs }: KnownProject, nowMs: number) {
    const isNew = endedMs !== undefined && endedMs > shownEndMs;
    const fromMs = Math.max(0, learnedMs - beganMs);
    const toMs = Math.max(0, (endedMs ?? nowMs) - beganMs);
    if (isNew || toMs > fromMs) uses.note(Math.min(fromMs, toMs), toMs, isNew);
  }

  /** Learns how exactly the list of computes has foretold the suspend of one that ran. */
  function noteListed(
    { listed }: Running,
    endMs: number | undefined,
    learnedMs: number,
    nowMs: number,
  ): void {
    const { suspendMs, readMs = 0, isUnused = false } = listed ?? {};
    if (suspendMs === undefined || !Number.isFinite(suspendMs)) return;
    const hasEnded = endMs !== undefined && endMs >= readMs - RECENT_MS;
    const toMs = hasEnded ? endMs : nowMs;
    const fromMs = Math.min(toMs, Math.max(readMs, learnedMs));
    const ageOf = (atMs: number) => Math.max(0, atMs - suspendMs + EARLY_MS);
    (isUnused ? unused : used).note(ageOf(fromMs), ageOf(toMs), hasEnded);
  }
}

function listedAt({ lastActiveMs, suspendAfterMs }: RunningCompute, nowMs: number): Listed {
  const isNever = suspendAfterMs === Number.POSITIVE_INFINITY;
  const suspendMs = isNever ? suspendAfterMs : (lastActiveMs ?? Number.NaN) + suspendAfterMs;
  return {
    readMs: nowMs,
    suspendMs: suspendMs >= nowMs - CONTRADICTED_AFTER_MS ? suspendMs : undefined,
    isUnused: lastActiveMs !== undefined && nowMs - lastActiveMs > RECENT_MS,
  };
}

/** Returns when another list of computes says something new of this one. */
function staleMs({ readMs, suspendMs, isUnused }: Listed): number {
  if (suspendMs === undefined) return readMs + RETRY_AFTER_MS;
  if (!Number.isFinite(suspendMs)) return readMs + NEVER_FOR_MS;
  return Math.max(suspendMs + (isUnused ? USED_AGAIN_AFTER_MS : 0), readMs + LISTED_GAP_MS_MIN);
}
