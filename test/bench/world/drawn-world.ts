/** Draws worlds from ranges by a seed, so that no policy can be made for the worlds that have names. */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { MATCHED, WORLDS, type World, WRONG_ACTIVITY } from './world.ts';

interface Range {
  readonly min: number;
  readonly max: number;
  /** A quantity is drawn evenly by its logarithm, and a share evenly. */
  readonly scale: 'logarithmic' | 'even';
}

const logarithmic = (min: number, max: number): Range => ({ min, max, scale: 'logarithmic' });
const even = (min: number, max: number): Range => ({ min, max, scale: 'even' });

/** The output of the benchmark prints these ranges. */
export const RANGES = {
  sessionsPerDay: logarithmic(0.8, 80),
  zipfExponent: even(0, 1.5),
  cycleDepth: even(0, 0.9),
  suspendAfterS: logarithmic(60, 3_600),
  useSMean: logarithmic(60, 3_600),
  suspendShare: even(0, 1),
  branchShare: even(0, 0.5),
  configShare: even(0, 0.2),
  timelineShare: even(0, 0.1),
  durationFactor: logarithmic(0.3, 3),
  failShare: even(0, 0.02),
  commandShare: even(0, 0.3),
  deploymentsPerDay: even(0, 48),
  deploymentDurationS: logarithmic(60, 1_800),
  deploymentSessionsPerProject: even(0, 0.3),
  upstreamMsMedian: logarithmic(20, 120),
  activityLagS: even(0, 60),
} as const satisfies Readonly<Record<string, Range>>;

const DRAWN = /^drawn-(\d{1,9})$/;

/** Returns the world with a name of its own, or the one that `drawn-N` draws with seed N. */
export function worldNamed(name: string): World {
  const [, seed] = DRAWN.exec(name) ?? [];
  const found =
    seed === undefined
      ? [...WORLDS, WRONG_ACTIVITY].find((world) => world.name === name)
      : drawnWorld(Number(seed));
  if (found !== undefined) return found;
  const names = WORLDS.map((world) => world.name).join(', ');
  throw new RangeError(`There is no world "${name}"; the worlds are ${names}, and drawn-N with any seed N`);
}

export function drawnWorld(seed: number): World {
  const random = seededRandom(seed + 7_000);
  const draw = (quantity: keyof typeof RANGES) => drawFrom(RANGES[quantity], random);
  const perDay = Math.floor(draw('deploymentsPerDay'));
  const deployments = {
    perDay,
    durationS: draw('deploymentDurationS'),
    sessionsPerProject: draw('deploymentSessionsPerProject'),
  };
  const upstreamMsMedian = draw('upstreamMsMedian');
  return {
    name: `drawn-${seed}`,
    sessionsPerDay: draw('sessionsPerDay'),
    zipfExponent: draw('zipfExponent'),
    cycleDepth: draw('cycleDepth'),
    suspendAfterS: draw('suspendAfterS'),
    useSMean: draw('useSMean'),
    suspendShare: draw('suspendShare'),
    branchShare: draw('branchShare'),
    configShare: draw('configShare'),
    timelineShare: draw('timelineShare'),
    durationFactor: draw('durationFactor'),
    failShare: draw('failShare'),
    commandShare: draw('commandShare'),
    // The deployments of one day must not overlap.
    deployments: perDay === 0 || perDay * deployments.durationS > 43_200 ? undefined : deployments,
    activityLagS: draw('activityLagS'),
    delays: { ...MATCHED.delays, upstreamMsMedian, upstreamMsP95: 4 * upstreamMsMedian },
  };
}

function drawFrom({ min, max, scale }: Range, random: Random): number {
  const share = random.next();
  return scale === 'even' ? min + share * (max - min) : min * (max / min) ** share;
}
