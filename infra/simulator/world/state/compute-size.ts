/** Checks the sizes of computes, and derives what follows from them (specification "Compute sizes" and "Limits"). */

export interface ComputeSize {
  readonly minCu: number;
  readonly maxCu: number;
}

const SHARED_CU = [0.25, 0.5];
export const AUTOSCALING_CU_MAX = 16;
const FIXED_CU_MAX = 56;

/** The service offers 0.25, 0.5, each integer from 1 to 16, and each even integer from 18 to 56. */
function isOffered(cu: number): boolean {
  if (SHARED_CU.includes(cu)) return true;
  if (!Number.isInteger(cu) || cu < 1 || cu > FIXED_CU_MAX) return false;
  return cu <= AUTOSCALING_CU_MAX || cu % 2 === 0;
}

/** Returns what is wrong with the size, or undefined when a compute may have it. */
export function faultOfSize({ minCu, maxCu }: ComputeSize): string | undefined {
  if (!isOffered(minCu)) return `autoscaling_limit_min_cu: ${minCu} is not offered`;
  if (!isOffered(maxCu)) return `autoscaling_limit_max_cu: ${maxCu} is not offered`;
  if (minCu > maxCu) return 'autoscaling_limit_min_cu: must not be above autoscaling_limit_max_cu';
  if (maxCu > AUTOSCALING_CU_MAX && minCu !== maxCu)
    return `autoscaling_limit_max_cu: sizes above ${AUTOSCALING_CU_MAX} are fixed, so both limits must be equal`;
  return undefined;
}

/** The specification lists these for the sizes 0.25 to 8; from 9 on the value is 4000. */
const MAX_CONNECTIONS: Readonly<Record<number, number>> = {
  0.25: 112,
  0.5: 225,
  1: 450,
  2: 901,
  3: 1351,
  4: 1802,
  5: 2253,
  6: 2703,
  7: 3154,
  8: 3604,
};

/**
 * The value "depends on both the minimum and the maximum size", and the specification does not say how: here the
 * maximum counts, up to 8 times the minimum.
 */
export function maxConnectionsOf({ minCu, maxCu }: ComputeSize): number {
  const cu = Math.min(maxCu, 8 * minCu);
  return MAX_CONNECTIONS[cu] ?? 4_000;
}

export interface Resources {
  readonly vcpu: number;
  readonly ram_gb: number;
  /** The local file cache takes 75 % of the memory. */
  readonly lfc_gb: number;
}

export function resourcesOf(cu: number): Resources {
  return { vcpu: cu, ram_gb: 4 * cu, lfc_gb: 3 * cu };
}
