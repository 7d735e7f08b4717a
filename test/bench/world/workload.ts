/**
 * Creates the benchmark's account: projects of Zipf popularity, and sessions as a Poisson process with a daily cycle,
 * each a chain of operations. The account is invented and not traced from a real one.
 */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { exponential, logNormal } from './distributions.ts';
import type { World } from './world.ts';

const DAY_S = 86_400;

/**
 * The time starts on 15 January 2026. At the beginning of the epoch, the sweep's interval of a day would not have
 * passed yet.
 */
const ORIGIN_S = 1_768_435_200;

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
  /** It is true when a command through the bridge has started this operation. */
  readonly isCommand: boolean;
  /** The states are creation, running, possibly failed, and finished. */
  readonly states: readonly { readonly atS: number; readonly status: string }[];
}

export interface Transition {
  readonly atS: number;
  readonly operation: WorkOperation;
  /** The operation has this place among those of its project. */
  readonly place: number;
  readonly status: string;
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
  readonly world: World;
  /** Holds the seconds from the start of a session to each of its transitions, without those of suspends. */
  readonly offsets: readonly number[];
  /** Counts the transitions of sessions that commands through the bridge have started, without those of suspends. */
  readonly commandedCount: number;
  /** Holds for each project the times within which a compute was running and could be suspended. */
  readonly suspendable: readonly (readonly Period[])[];
}

export interface Period {
  readonly fromS: number;
  readonly toS: number;
}

/** The time that a workload covers, in hours. `fromHour` counts within the second day, and is 0 by default. */
export interface Span {
  readonly hours: number;
  readonly fromHour?: number;
}

/** Sessions are rarest at hour 0 of a day and most frequent at hour 12. */
export function createWorkload(
  world: World,
  projectCount: number,
  seed: number,
  { hours, fromHour = 0 }: Span,
): Workload {
  const random = seededRandom(seed);
  const startS = ORIGIN_S + HISTORY_DAYS_MAX * DAY_S + fromHour * 3_600;
  const endS = startS + hours * 3_600;
  const rates = zipfRates(world, projectCount, random);
  const deployments = deploymentsUntil(world, endS);
  const isMeasured = ({ atS }: { readonly atS: number }) => atS >= startS && atS < endS;
  const sessions = createSessions(world, random);
  const projects = rates.map((rate, project) => {
    const fromS = startS - historyDaysOf(world, rate) * DAY_S;
    const starts = sessionStarts(world, rate, { fromS, toS: endS }, random);
    const recent = deployments.filter((each) => each.fromS >= fromS);
    return sessions.of(project, [...starts, ...deployedSessions(world, recent, random)]);
  });
  const moments = projects.flatMap((own) => own.moments.filter(isMeasured));
  return {
    world,
    projectCount,
    startS,
    endS,
    rates,
    operations: projects.map(({ operations }) => operations),
    transitions: projects.map(({ operations }) => transitionsOf(operations).filter(isMeasured)),
    offsets: moments.flatMap(({ isCommanded, offsetS }) => (isCommanded ? [] : [offsetS])),
    commandedCount: moments.filter(({ isCommanded }) => isCommanded).length,
    suspendable: projects.map(({ suspendable }) => suspendable),
  };
}

/** Describes what all sessions of one project do. */
interface ProjectSessions {
  /** The oldest operation is the first. */
  readonly operations: readonly WorkOperation[];
  /** Holds every transition that is not of a suspend, with its time since the start of its session. */
  readonly moments: readonly Moment[];
  readonly suspendable: readonly Period[];
}

interface Moment {
  readonly atS: number;
  readonly offsetS: number;
  /** It is true when a command through the bridge has started the session. */
  readonly isCommanded: boolean;
}

/** Numbers the sessions of all projects. */
function createSessions(world: World, random: Random) {
  let session = 0;
  return {
    of(project: number, starts: readonly number[]): ProjectSessions {
      const operations: WorkOperation[] = [];
      const moments: Moment[] = [];
      const suspendable: Period[] = [];
      for (const sessionS of starts) {
        let atS = sessionS;
        session += 1;
        const isCommanded = world.commandShare > 0 && random.next() < world.commandShare;
        for (const [step, action] of chainOf(world, random).entries()) {
          if (action === 'suspend_compute') {
            const fromS = atS + world.suspendAfterS;
            atS = fromS + exponential(world.useSMean, random);
            suspendable.push({ fromS, toS: atS });
          }
          const states = statesOf(world, action, atS, random);
          operations.push({ action, project, session, isCommand: isCommanded && step === 0, states });
          if (action !== 'suspend_compute')
            moments.push(
              ...states.map((state) => ({ atS: state.atS, offsetS: state.atS - sessionS, isCommanded })),
            );
          atS = states.at(-1)?.atS ?? atS;
        }
      }
      return { operations: operations.toSorted((a, b) => createdS(a) - createdS(b)), moments, suspendable };
    },
  };
}

function transitionsOf(operations: readonly WorkOperation[]): readonly Transition[] {
  return operations
    .flatMap((operation, place) => operation.states.map((state) => ({ ...state, operation, place })))
    .toSorted((a, b) => a.atS - b.atS);
}

export function createdS(operation: WorkOperation): number {
  return operation.states[0]?.atS ?? 0;
}

/** The rates are shuffled, so that a project's place does not reveal its rate. */
function zipfRates(
  { sessionsPerDay, zipfExponent }: World,
  projectCount: number,
  random: Random,
): readonly number[] {
  const weights = Array.from({ length: projectCount }, (_, place) => (place + 1) ** -zipfExponent);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const rates = weights.map((weight) => (sessionsPerDay * projectCount * weight) / total / DAY_S);
  for (let place = rates.length - 1; place > 0; place--) {
    const other = Math.floor(random.next() * (place + 1));
    [rates[place], rates[other]] = [rates[other] ?? 0, rates[place] ?? 0];
  }
  return rates;
}

/** An account has been used for this many days before the measurement, which are as many as the planner looks back. */
const HISTORY_DAYS_MAX = 7;

/**
 * Of a busy project the planner looks only at the last day, so its history has about this number of sessions, or a day when
 * that has more.
 */
const HISTORY_SESSIONS = 32;

function historyDaysOf({ deployments }: World, rate: number): number {
  const deployedPerDay = deployments === undefined ? 0 : deployments.perDay * deployments.sessionsPerProject;
  return Math.min(HISTORY_DAYS_MAX, Math.max(1, HISTORY_SESSIONS / (rate * DAY_S + deployedPerDay)));
}

/** Draws a Poisson process of the highest rate of the day and thins it to the rate of the hour. */
function sessionStarts(
  world: World,
  rate: number,
  { fromS, toS }: Period,
  random: Random,
): readonly number[] {
  const starts: number[] = [];
  const rateMax = rate * (1 + world.cycleDepth);
  for (
    let atS = fromS + exponential(1 / rateMax, random);
    atS < toS;
    atS += exponential(1 / rateMax, random)
  ) {
    const share = cycleAt(world, atS) / (1 + world.cycleDepth);
    if (random.next() < share) starts.push(atS);
  }
  return starts;
}

/** Returns how the rate of sessions at this time relates to the mean of the day. */
export function cycleAt({ cycleDepth }: World, atS: number): number {
  return 1 + cycleDepth * Math.sin(2 * Math.PI * (atS / DAY_S - 0.25));
}

export function deploymentsUntil({ deployments }: World, endS: number): readonly Period[] {
  if (deployments === undefined) return [];
  const everyS = DAY_S / deployments.perDay;
  const count = Math.floor((endS - ORIGIN_S) / everyS);
  return Array.from({ length: count }, (_, place) => {
    // The first part of each interval is quiet, so that no deployment crosses the beginning of a measurement by design.
    const fromS = ORIGIN_S + (place + 0.5) * everyS;
    return { fromS, toS: fromS + deployments.durationS };
  });
}

/** Draws the sessions that deployments start in one project, as a Poisson process for the time of each deployment. */
function deployedSessions(
  { deployments }: World,
  periods: readonly Period[],
  random: Random,
): readonly number[] {
  if (deployments === undefined) return [];
  const intervalS = deployments.durationS / deployments.sessionsPerProject;
  return periods.flatMap(({ fromS, toS }) => {
    const starts: number[] = [];
    for (let atS = fromS + exponential(intervalS, random); atS < toS; atS += exponential(intervalS, random))
      starts.push(atS);
    return starts;
  });
}

function chainOf(
  { suspendShare, branchShare, configShare, timelineShare }: World,
  random: Random,
): readonly Action[] {
  const dice = random.next();
  if (dice >= 1 - timelineShare) return ['create_timeline'];
  if (dice >= 1 - timelineShare - configShare) return ['apply_config'];
  const begins: readonly Action[] =
    dice < branchShare ? ['create_branch', 'start_compute'] : ['start_compute'];
  const isSuspended = suspendShare === 1 || random.next() < suspendShare;
  return isSuspended ? [...begins, 'suspend_compute'] : begins;
}

function statesOf(
  { durationFactor, failShare }: World,
  action: Action,
  atS: number,
  random: Random,
): WorkOperation['states'] {
  const runningS = atS + durationFactor * logNormal(SCHEDULING, random);
  const endS = runningS + durationFactor * logNormal(DURATIONS[action], random);
  const begun = [
    { atS, status: 'scheduling' },
    { atS: runningS, status: 'running' },
  ];
  if (random.next() >= failShare) return [...begun, { atS: endS, status: 'finished' }];
  const retriedS = endS + logNormal(FAILED_FOR, random);
  return [...begun, { atS: endS, status: 'failed' }, { atS: retriedS, status: 'finished' }];
}
