/** Sizes of computes. Specification "Compute sizes" and "Limits". */

export interface ComputeSize {
  readonly minCu: number;
  readonly maxCu: number;
}

const SHARED_CU = [0.25, 0.5];
const AUTOSCALING_CU_MAX = 16;
const FIXED_CU_MAX = 56;

/** 0.25, 0.5, then each integer 1 to 16, then each even integer 18 to 56. */
export function isOffered(cu: number): boolean {
  if (SHARED_CU.includes(cu)) return true;
  if (!Number.isInteger(cu) || cu < 1 || cu > FIXED_CU_MAX) return false;
  return cu <= AUTOSCALING_CU_MAX || cu % 2 === 0;
}

/** Undefined when a compute may have this size; otherwise what is wrong with it. */
export function faultOfSize({ minCu, maxCu }: ComputeSize): string | undefined {
  if (!isOffered(minCu)) return `autoscaling_limit_min_cu: ${minCu} is not offered`;
  if (!isOffered(maxCu)) return `autoscaling_limit_max_cu: ${maxCu} is not offered`;
  if (minCu > maxCu) return 'autoscaling_limit_min_cu: must not be above autoscaling_limit_max_cu';
  if (maxCu > AUTOSCALING_CU_MAX && minCu !== maxCu)
    return `autoscaling_limit_max_cu: sizes above ${AUTOSCALING_CU_MAX} are fixed, so both limits must be equal`;
  return undefined;
}

/** Of the sizes 0.25 to 8, as the specification lists them; from 9 on it is 4000. */
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

/** "Depends on both the minimum and the maximum size": how is not shown; here the maximum counts, up to 8 x the minimum. */
export function maxConnectionsOf({ minCu, maxCu }: ComputeSize): number {
  const cu = Math.min(maxCu, 8 * minCu);
  return MAX_CONNECTIONS[cu] ?? 4_000;
}

export interface Resources {
  readonly vcpu: number;
  readonly ram_gb: number;
  /** Local file cache: 75 % of the memory. */
  readonly lfc_gb: number;
}

export function resourcesOf(cu: number): Resources {
  return { vcpu: cu, ram_gb: 4 * cu, lfc_gb: 3 * cu };
}
