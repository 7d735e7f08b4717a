/** Draws from the distributions of the benchmark's world. */

import type { Random } from '../../../shared/runtime/random.ts';

/** Draws from a log-normal distribution, which is given by its median and by the sigma of its logarithm. */
export function logNormal([median, sigma]: readonly [number, number], random: Random): number {
  return median * Math.exp(sigma * normal(random));
}

export function exponential(mean: number, random: Random): number {
  return -mean * Math.log(1 - random.next());
}

function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
