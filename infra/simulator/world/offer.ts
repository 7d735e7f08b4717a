/**
 * Lists what the service offers: the plans of an account and what each of them allows, the sizes of computes with
 * what follows from them, and the regions in which projects can be created.
 */

export interface Plan {
  readonly name: string;
  /** The public contract has this name for the plan. */
  readonly subscriptionType: string;
  /** The largest compute has this many compute units. One unit is one vCPU with 4 GB of memory. */
  readonly cuMax: number;
  readonly branchesMax: number;
  readonly branchSizeMibMax: number;
}

export const PLANS = {
  /** The free plan has "up to 2 vCPUs and 8 GB RAM" (specification "Limits"); the other limits are as observed. */
  free: { name: 'free', subscriptionType: 'free_v3', cuMax: 2, branchesMax: 10, branchSizeMibMax: 512 },
  /** The paid plan has every size of the specification, 5,000 branches and 16 TiB. */
  scale: {
    name: 'scale',
    subscriptionType: 'scale_v3',
    cuMax: 56,
    branchesMax: 5_000,
    branchSizeMibMax: 16 * 1_024 ** 2,
  },
} as const satisfies Readonly<Record<string, Plan>>;

export type PlanName = keyof typeof PLANS;

export const PLAN_NAMES = Object.keys(PLANS) as readonly PlanName[];

/** Returns why the plan lacks the size, or undefined when a compute may have it. */
export function faultOfPlan({ maxCu }: ComputeSize, { name, cuMax }: Plan): string | undefined {
  if (maxCu <= cuMax) return undefined;
  return `autoscaling_limit_max_cu: the ${name} plan has computes of at most ${cuMax} CU`;
}

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

interface Region {
  readonly id: string;
  readonly name: string;
  readonly latitude: string;
  readonly longitude: string;
}

export const REGIONS: readonly Region[] = [
  { id: 'aws-us-east-1', name: 'AWS US East 1 (N. Virginia)', latitude: '38.13', longitude: '-78.45' },
  { id: 'aws-us-east-2', name: 'AWS US East 2 (Ohio)', latitude: '39.96', longitude: '-83.00' },
  { id: 'aws-us-west-2', name: 'AWS US West 2 (Oregon)', latitude: '46.15', longitude: '-123.88' },
  { id: 'aws-eu-central-1', name: 'AWS Europe Central 1 (Frankfurt)', latitude: '50.00', longitude: '8.00' },
  { id: 'aws-eu-west-2', name: 'AWS Europe West 2 (London)', latitude: '51.51', longitude: '-0.13' },
  { id: 'aws-ap-southeast-1', name: 'AWS Asia Pacific 1 (Singapore)', latitude: '1.37', longitude: '103.80' },
  { id: 'aws-ap-southeast-2', name: 'AWS Asia Pacific 2 (Sydney)', latitude: '-33.86', longitude: '151.20' },
  {
    id: 'aws-sa-east-1',
    name: 'AWS South America East 1 (São Paulo)',
    latitude: '-23.55',
    longitude: '-46.63',
  },
];

export function isRegion(regionId: string): boolean {
  return REGIONS.some(({ id }) => id === regionId);
}
