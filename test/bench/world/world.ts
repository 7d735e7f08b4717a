/** Describes how an invented account behaves. The planner's constants describe one of these worlds, the matched one. */

export interface World {
  readonly name: string;
  /** This is the mean number of sessions a day over all projects, without those of deployments. */
  readonly sessionsPerDay: number;
  /** The project of rank r has r ** -zipfExponent of the weight. At 0 all projects are equally busy. */
  readonly zipfExponent: number;
  /** The rate of sessions swings by this share around its mean within a day. */
  readonly cycleDepth: number;
  /** A compute can be suspended this many seconds after its start, and not before. */
  readonly suspendAfterS: number;
  /** A compute is used for this many seconds on average after it could first be suspended. */
  readonly useSMean: number;
  /** This share of the computes is suspended at the end of their use; the other ones run on. */
  readonly suspendShare: number;
  /** These shares of the sessions begin with a new branch, change a configuration, or only create a timeline. */
  readonly branchShare: number;
  readonly configShare: number;
  readonly timelineShare: number;
  /** All operations take this many times as long as in the matched world. */
  readonly durationFactor: number;
  /** This share of the operations fails at first and is retried much later. */
  readonly failShare: number;
  /** Undefined means that nothing is deployed. */
  readonly deployments: Deployments | undefined;
  /** This share of the sessions is started by a command through the bridge. */
  readonly commandShare: number;
  /**
   * The service looks this often at what a compute does, so its `last_active` is up to this many seconds old. When it is
   * infinite, the service never looks, and `last_active` stays at the start of the compute.
   */
  readonly activityLagS: number;
  readonly delays: Delays;
}

/** Says how long calls and work take, in milliseconds. */
export interface Delays {
  /** Calls of the upstream are log-normal, given by their median and by the time within which 95 of 100 end. */
  readonly upstreamMsMedian: number;
  readonly upstreamMsP95: number;
  readonly tableMs: number;
  readonly busMs: number;
  /** The poller's processor works for this long on each answer of the upstream, with all that follows from it. */
  readonly processorMs: number;
}

/** A normal distribution has 95 of 100 values below its mean plus this many sigmas. */
const SIGMAS_OF_P95 = 1.645;

/** Returns the sigma of the logarithm of the upstream's durations. */
export function upstreamSigma({ upstreamMsMedian, upstreamMsP95 }: Delays): number {
  return Math.log(upstreamMsP95 / upstreamMsMedian) / SIGMAS_OF_P95;
}

/** While a deployment lasts, sessions begin in every project, as often in the quiet ones as in the busy ones. */
interface Deployments {
  /** Deployments are spread evenly over the day. */
  readonly perDay: number;
  readonly durationS: number;
  /** This is the mean number of sessions that one deployment starts in one project. */
  readonly sessionsPerProject: number;
}

/**
 * `npm run bench -- poll-cpu` has measured that a poll takes 3.8 ms of a core of a busy machine. This is that time on a
 * function with the default memory of 160 MB, which has an eleventh of a core.
 */
const PROCESSOR_MS = 42;

/** The planner's constants describe this world. */
export const MATCHED: World = {
  name: 'matched',
  sessionsPerDay: 8,
  zipfExponent: 1.1,
  cycleDepth: 0.8,
  suspendAfterS: 300,
  useSMean: 240,
  suspendShare: 1,
  branchShare: 0.2,
  configShare: 0.1,
  timelineShare: 0.05,
  durationFactor: 1,
  failShare: 0.003,
  deployments: undefined,
  commandShare: 0.1,
  activityLagS: 15,
  delays: { upstreamMsMedian: 40, upstreamMsP95: 150, tableMs: 5, busMs: 15, processorMs: PROCESSOR_MS },
};

/** Each of the other worlds differs from the planner's constants in one respect. */
export const WORLDS: readonly World[] = [
  MATCHED,
  { ...MATCHED, name: '30-minutes', useSMean: 1_800 },
  { ...MATCHED, name: 'ten-times-quieter', sessionsPerDay: 0.8 },
  { ...MATCHED, name: 'ten-times-busier', sessionsPerDay: 80 },
  {
    ...MATCHED,
    name: 'deployments',
    sessionsPerDay: 4,
    deployments: { perDay: 24, durationS: 300, sessionsPerProject: 1 / 6 },
  },
  { ...MATCHED, name: 'no-suspends', suspendShare: 0 },
];

/** In this world `last_active` is wrong. It is no part of the standard rows, and shows what wrong readings cost. */
export const WRONG_ACTIVITY: World = {
  ...MATCHED,
  name: 'wrong-activity',
  activityLagS: Number.POSITIVE_INFINITY,
};
