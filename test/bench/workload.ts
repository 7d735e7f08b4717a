/**
 * Creates the benchmark's account: projects of Zipf popularity, and sessions as a Poisson process with a daily cycle,
 * each a chain of operations. The account is invented and not traced from a real one.
 */

import { type Random, seededRandom } from '../../shared/runtime/random.ts';

const DAY_S = 86_400;

/**
 * The time starts on 15 January 2026. At the beginning of the epoch, the sweep's interval of a day would not have
 * passed yet.
 */
const ORIGIN_S = 1_768_435_200;
const SUSPEND_AFTER_S = 300;
export const USE_S_MEAN = 240;
const SESSIONS_PER_DAY = 8;
const ZIPF_EXPONENT = 1.1;
const CYCLE_DEPTH = 0.8;
const FAILS = 0.003;

/** The durations are log-normal, given by their median in seconds and sigma. */
export const SCHEDULING = [0.15, 0.5] as const;
export const DURATIONS = {
  start_compute: [0.8, 0.6],
  create_branch: [2, 0.9],
  suspend_compute: [2, 0.7],
  apply_config: [3, 1],
  create_timeline: [45, 0.9],
} as const;
const FAILED_FOR = [1_200, 1.5] as const;

type Action = keyof typeof DURATIONS;

export interface WorkOperation {
  readonly action: Action;
  readonly project: number;
  /** Each session uses a compute of its own: sessions overlap, and each ends with its own suspend. */
  readonly session: number;
  /** The states are creation, running, possibly failed, and finished. */
  readonly states: readonly { readonly atS: number; readonly status: string }[];
}

interface Transition {
  readonly atS: number;
  readonly operation: WorkOperation;
}

export interface Workload {
  readonly projectCount: number;
  /** The time before this is history: the bridge can learn from it, but it is not measured. */
  readonly startS: number;
  readonly endS: number;
  /** This is the number of sessions per second and project. */
  readonly rates: readonly number[];
  /** Holds the operations of each project, the oldest first. */
  readonly operations: readonly (readonly WorkOperation[])[];
  /** Holds the measured transitions of each project, the oldest first. */
  readonly transitions: readonly (readonly Transition[])[];
  /** Holds the seconds from the start of a session to each of its transitions, without those of suspends. */
  readonly offsets: readonly number[];
  readonly suspendCount: number;
}

/** `fromHour` counts within the second day. Sessions are rarest at hour 0 of a day and most frequent at hour 12. */
export function createWorkload(projectCount: number, seed: number, hours: number, fromHour = 0): Workload {
  const random = seededRandom(seed);
  const startS = ORIGIN_S + DAY_S + fromHour * 3_600;
  const endS = startS + hours * 3_600;
  const rates = zipfRates(projectCount, random);
  const offsets: number[] = [];
  let suspendCount = 0;
  let session = 0;
  const operations = rates.map((rate, project) => {
    const own: WorkOperation[] = [];
    for (const sessionS of sessionStarts(rate, endS, random)) {
      let atS = sessionS;
      session += 1;
      for (const action of chainOf(random)) {
        if (action === 'suspend_compute') atS += SUSPEND_AFTER_S + exponential(USE_S_MEAN, random);
        const operation = { action, project, session, states: statesOf(action, atS, random) };
        own.push(operation);
        const isMeasured = atS >= startS && atS < endS;
        if (isMeasured && action === 'suspend_compute') suspendCount += 1;
        if (isMeasured && action !== 'suspend_compute') offsets.push(...offsetsOf(operation, sessionS));
        atS = operation.states.at(-1)?.atS ?? atS;
      }
    }
    return own.toSorted((a, b) => createdS(a) - createdS(b));
  });
  const transitions = operations.map((own) =>
    own
      .flatMap((operation) => operation.states.map(({ atS }) => ({ atS, operation })))
      .filter(({ atS }) => atS >= startS && atS < endS)
      .toSorted((a, b) => a.atS - b.atS),
  );
  return { projectCount, startS, endS, rates, operations, transitions, offsets, suspendCount };
}

export function createdS(operation: WorkOperation): number {
  return operation.states[0]?.atS ?? 0;
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

export function logNormal([median, sigma]: readonly [number, number], random: Random): number {
  return median * Math.exp(sigma * normal(random));
}

function exponential(mean: number, random: Random): number {
  return -mean * Math.log(1 - random.next());
}

/** The rates are shuffled, so that a project's place does not reveal its rate. */
function zipfRates(projectCount: number, random: Random): readonly number[] {
  const weights = Array.from({ length: projectCount }, (_, place) => (place + 1) ** -ZIPF_EXPONENT);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const rates = weights.map((weight) => (SESSIONS_PER_DAY * projectCount * weight) / total / DAY_S);
  for (let place = rates.length - 1; place > 0; place--) {
    const other = Math.floor(random.next() * (place + 1));
    [rates[place], rates[other]] = [rates[other] ?? 0, rates[place] ?? 0];
  }
  return rates;
}

/** Draws a Poisson process of the highest rate of the day and thins it to the rate of the hour. */
function sessionStarts(rate: number, endS: number, random: Random): readonly number[] {
  const starts: number[] = [];
  const rateMax = rate * (1 + CYCLE_DEPTH);
  for (
    let atS = ORIGIN_S + exponential(1 / rateMax, random);
    atS < endS;
    atS += exponential(1 / rateMax, random)
  ) {
    const share = (1 + CYCLE_DEPTH * Math.sin(2 * Math.PI * (atS / DAY_S - 0.25))) / (1 + CYCLE_DEPTH);
    if (random.next() < share) starts.push(atS);
  }
  return starts;
}

function chainOf(random: Random): readonly Action[] {
  const dice = random.next();
  if (dice < 0.2) return ['create_branch', 'start_compute', 'suspend_compute'];
  if (dice < 0.85) return ['start_compute', 'suspend_compute'];
  return dice < 0.95 ? ['apply_config'] : ['create_timeline'];
}

function statesOf(action: Action, atS: number, random: Random): WorkOperation['states'] {
  const runningS = atS + logNormal(SCHEDULING, random);
  const endS = runningS + logNormal(DURATIONS[action], random);
  const begun = [
    { atS, status: 'scheduling' },
    { atS: runningS, status: 'running' },
  ];
  if (random.next() >= FAILS) return [...begun, { atS: endS, status: 'finished' }];
  const retriedS = endS + logNormal(FAILED_FOR, random);
  return [...begun, { atS: endS, status: 'failed' }, { atS: retriedS, status: 'finished' }];
}

/** The bound counts creation, running and end. */
function offsetsOf({ states }: WorkOperation, sessionS: number): readonly number[] {
  return [states[0], states[1], states.at(-1)].map((state) => (state?.atS ?? sessionS) - sessionS);
}
