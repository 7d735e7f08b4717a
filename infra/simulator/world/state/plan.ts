/** Lists the plans of an account, and what each of them allows. */

import type { ComputeSize } from './compute-size.ts';

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
