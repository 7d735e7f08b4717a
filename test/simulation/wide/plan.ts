/** Derives everything that differs between two wide runs from the seed alone. */

import type { StallThresholdsMs } from '../../../functions/poller/project/poll.ts';
import type { WalkLimits } from '../../../functions/poller/project/walk.ts';
import type { Backfill } from '../../../shared/records/operation-record.ts';
import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { isLaterFault, WIDE_FAULT_RATES, type WideFault, wideFaultKinds } from './faults.ts';
import { PRODUCTION_WALK } from './promised.ts';

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

/** These are the shortest and the longest duration of a call. */
export type Duration = readonly [shortestMs: number, longestMs: number];

export interface WidePlan {
  readonly seed: number;
  readonly projectCount: number;
  /** Each busy time has this number of operations. */
  readonly operationCount: number;
  /** Each project has this number of operations from before the bridge. */
  readonly historyCount: number;
  /** The operations of the second busy time begin within ten seconds, near the end of an invocation. */
  readonly isBurst: boolean;
  readonly busyMs: number;
  /** Holds the time between the first busy time and the second. It is 0 when there is no gap. */
  readonly gapMs: number;
  /** Says whether the gap passes without any poller. */
  readonly isAsleep: boolean;
  readonly requestsPerMinute: number;
  /** With 0 no commands are sent. */
  readonly commandRequestsPerMinute: number;
  /** Two commands are this far apart. */
  readonly commandEveryMs: Duration;
  readonly pollIntervalSeconds: number;
  readonly pollsAtOnce: number;
  readonly workIntervalMs: number;
  readonly lingerMs: number | undefined;
  readonly walkLimits: WalkLimits;
  readonly boundStepRows: number;
  readonly sweepIntervalMs: number;
  readonly backfill: Backfill;
  readonly isLeased: boolean;
  /**
   * Says whether only one invocation runs at a time, as deployed. Otherwise a new one can begin while another one
   * runs.
   */
  readonly isReserved: boolean;
  readonly tableMs: Duration;
  readonly busMs: Duration;
  readonly upstreamMs: Duration;
  /** The upstream puts at most this number of rows on a page, whatever was asked for. */
  readonly operationPageMax: number;
  readonly projectPageMax: number;
  readonly visibleLateMsMax: number;
  /** The poller polls at most this number of projects. It is undefined when the bound cannot be met. */
  readonly projectsMax: number | undefined;
  /** A replica answers with what was true up to so long ago. It is undefined where every answer is of now. */
  readonly replicaLagMsMax?: number | undefined;
  /** An action that is not named here is stalled when it takes longer than it usually does. */
  readonly stallThresholdsMs: StallThresholdsMs;
  /** Holds the probability of each fault per opportunity. It is 0 for the kinds that this run does not have. */
  readonly faults: Readonly<Record<WideFault, number>>;
}

interface Dice {
  readonly chance: (probability: number) => boolean;
  readonly whole: (from: number, to: number) => number;
  readonly pick: <T>(values: readonly [T, ...T[]]) => T;
}

export function dice(random: Random): Dice {
  const whole = (from: number, to: number) => from + Math.floor(random.next() * (to - from + 1));
  return {
    chance: (probability) => random.next() < probability,
    whole,
    pick: (values) => values[whole(0, values.length - 1)] ?? values[0],
  };
}

export function drawPlan(seed: number): WidePlan {
  const random = seededRandom(seed ^ 0x71de);
  const { chance, whole, pick } = dice(random);
  const faults = drawFaults(random);
  const flavour = flavourOf(random.next());
  const hasSweeps = chance(0.5);
  const overlapMs = whole(5, 20) * 1_000;
  const isCapped = faults.operation_page_capped > 0;
  const hasGap = chance(0.35);
  const isLeased = flavour === 'hurried' || chance(0.75);
  const plan: WidePlan = {
    seed,
    projectCount: whole(1, 4),
    // A list of very short pages takes many polls, and the time of a run allows only a limited number.
    operationCount: isCapped ? whole(2, 5) : whole(2, 14),
    historyCount: whole(0, 6),
    isBurst: false,
    busyMs: whole(80, 130) * 1_000,
    gapMs: hasGap ? whole(1, 70) * DAY_MS : 0,
    isAsleep: chance(0.4),
    requestsPerMinute: whole(20, 90),
    commandRequestsPerMinute: faults.command_sent > 0 ? whole(5, 20) : 0,
    commandEveryMs: [5_000, 45_000],
    pollIntervalSeconds: whole(10, 40),
    pollsAtOnce: whole(1, 2),
    workIntervalMs: whole(8, 20) * 1_000,
    lingerMs: chance(0.55) ? whole(0, 10) * 1_000 : undefined,
    walkLimits: {
      firstPageRows: whole(2, 6),
      widePageRows: whole(7, 14),
      pagesMax: whole(4, 6),
      overlapMs,
    },
    boundStepRows: pick([1, 1, 2, 4]),
    sweepIntervalMs: hasSweeps ? 100_000 : DAY_MS,
    backfill: pick(['open', 'open', 'all', 'none']),
    isLeased,
    isReserved: isLeased && chance(0.4),
    tableMs: pick([
      [1, 10],
      [5, 30],
      [5, 60],
      [65, 100],
      [150, 200],
    ]),
    busMs:
      faults.bus_slow > 0
        ? [500, 2_500]
        : pick([
            [5, 25],
            [10, 60],
          ]),
    upstreamMs: pick([
      [20, 80],
      [50, 300],
      [100, 800],
    ]),
    operationPageMax: isCapped ? whole(1, 6) : 1_000,
    projectPageMax: faults.project_page_capped > 0 ? whole(1, 3) : 400,
    visibleLateMsMax: hasSweeps ? 3 * overlapMs : overlapMs,
    projectsMax: undefined,
    stallThresholdsMs: { default: FIXED_STALLS_MS },
    faults: withoutContradictions(faults, { hasSweeps, isLeased, isCapped }),
  };
  return withLaterFaults({ ...plan, ...flavoured(flavour, plan, whole) });
}

/** Few runs have the faults that were added later, because each of them limits what else can be judged. */
const NOT_FOUND_SHARE = 0.06;
const BOUND_SHARE = 0.012;

/** Operations that stay where they are take no work away from a run, and these runs judge the events about them. */
const STUCK_SHARE = 0.3;

/** What a process holds of durations is written in calm times, too, so this fault does not end with the busy ones. */
const INSIGHTS_REPLY_SHARE = 0.06;

/** In these runs only one action has fixed thresholds. The others are judged by what they usually take. */
const USUAL_STALLS_SHARE = 0.5;
const FIXED_STALLS_MS = [MINUTE_MS, 5 * MINUTE_MS] as const;

/** Draws the faults that were added later from dice of their own. */
function withLaterFaults(plan: WidePlan): WidePlan {
  const { chance } = dice(seededRandom(plan.seed ^ LATER_SALT));
  const isNotFound = chance(NOT_FOUND_SHARE);
  const isBounded = chance(BOUND_SHARE) && plan.projectCount > 1;
  const stallThresholdsMs = chance(USUAL_STALLS_SHARE)
    ? { start_compute: FIXED_STALLS_MS }
    : plan.stallThresholdsMs;
  const later = {
    project_not_found_for_a_while: Number(isNotFound),
    project_bound_met: Number(isBounded),
    operation_stuck: chance(STUCK_SHARE) ? WIDE_FAULT_RATES.operation_stuck : 0,
    operation_list_long: 0,
    project_walk_cut_short: 0,
    computes_read: 0,
    computes_refused: 0,
    computes_wrong: 0,
    project_list_failing: 0,
    insights_reply_lost: chance(INSIGHTS_REPLY_SHARE) ? WIDE_FAULT_RATES.insights_reply_lost : 0,
  };
  // A list that leaves a project out without a word, and a 404 of that project, would together prove that it is gone.
  const partial = isNotFound ? { project_page_partial: 0 } : {};
  const isMissing = dice(seededRandom(plan.seed ^ MISSING_SALT)).chance(MISSING_SHARE);
  return {
    ...plan,
    projectsMax: isBounded ? plan.projectCount - 1 : undefined,
    stallThresholdsMs,
    faults: { ...plan.faults, ...partial, ...later, ...(isMissing ? MISSING : {}) },
  };
}

/**
 * An operation that no page shows is read by itself. In these runs more operations stay open for so long, and the first answer about
 * almost each of them is a 404.
 */
const MISSING_SHARE = 0.05;
const MISSING = { operation_stuck: WIDE_FAULT_RATES.operation_stuck, operation_missing_once: 0.8 } as const;

/** With this salt none of the seeds that had broken a promise before is such a run. */
const MISSING_SALT = 0x251c;

/** With this salt none of the seeds that once broke a promise has such a fault. */
const LATER_SALT = 0xdb06;

type Flavour = 'usual' | 'crowded' | 'large' | 'hurried';

function flavourOf(thrown: number): Flavour {
  if (thrown < 0.03) return 'crowded';
  if (thrown < 0.05) return 'large';
  return thrown < 0.11 ? 'hurried' : 'usual';
}

/** Gives a few runs a lot of one thing: projects, operations, or requests. */
function flavoured(
  flavour: Flavour,
  { walkLimits, faults }: WidePlan,
  whole: Dice['whole'],
): Partial<WidePlan> {
  switch (flavour) {
    case 'usual':
      return {};
    case 'crowded':
      return { projectCount: whole(20, 40), requestsPerMinute: whole(20, 40) };
    case 'large': {
      return {
        projectCount: whole(1, 2),
        operationCount: whole(250, 500),
        operationPageMax: 1_000,
        isBurst: true,
        pollsAtOnce: whole(2, 12),
        walkLimits: { ...PRODUCTION_WALK, overlapMs: walkLimits.overlapMs },
      };
    }
    case 'hurried':
      // The whole limit is always spent, so a process that sends without the lease exceeds it.
      return {
        requestsPerMinute: whole(25, 50),
        pollIntervalSeconds: whole(1, 3),
        pollsAtOnce: whole(2, 5),
        lingerMs: undefined,
        faults: { ...faults, lambda_frozen: whole(0, 1) / 2 },
      };
  }
}

/**
 * Removes faults that no bridge could handle in such a run. With them the promise (design, section 1) could not be
 * kept whatever the bridge does, so a violation would say nothing about the bridge.
 */
function withoutContradictions(
  faults: WidePlan['faults'],
  run: { readonly hasSweeps: boolean; readonly isLeased: boolean; readonly isCapped: boolean },
): WidePlan['faults'] {
  const only = (kind: WideFault, isPossible: boolean) => ({ [kind]: isPossible ? faults[kind] : 0 });
  return {
    ...faults,
    // Rows of one microsecond on both sides of a page end that never moves cannot be found.
    ...only('operation_row_tied', run.hasSweeps && !run.isCapped),
    ...only('operation_reopened', run.hasSweeps),
    // A lease ends at a time of the wall clock, so it needs clocks that agree.
    ...only('clock_wrong', !run.isLeased),
  };
}

/** Each run has about a quarter of the faults: with all of them at once no work would ever be finished. */
const SHARE_ON = 0.25;

/** A few runs have no faults: they show what goes wrong even without one. */
const SHARE_CALM = 0.06;

function drawFaults(random: Random): WidePlan['faults'] {
  const isCalm = random.next() < SHARE_CALM;
  const entries = wideFaultKinds.map((kind) => {
    if (isLaterFault(kind)) return [kind, 0] as const;
    // A fault that is gone was drawn before this one. Its draws keep older seeds what they were.
    if (kind === 'operation_row_malformed') for (let draw = isCalm ? 1 : 0; draw < 2; draw++) random.next();
    const isOn = !isCalm && random.next() < SHARE_ON;
    const rate = WIDE_FAULT_RATES[kind];
    const spread = 0.5 + random.next();
    if (rate === 0 || rate === 1) return [kind, isOn ? 1 : 0] as const;
    return [kind, isOn ? rate * spread : 0] as const;
  });
  return Object.fromEntries(entries) as WidePlan['faults'];
}
