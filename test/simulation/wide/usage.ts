/** Lets projects use up a quota in some runs, by the clock of the run alone. */

import { seededRandom } from '../../../shared/runtime/random.ts';
import { FOREIGN_FROM } from '../foreign-from.ts';
import { dice, type WidePlan } from './plan.ts';
import { START_MS } from './timeline.ts';
import type { WideWorld } from './world.ts';

/** With this salt none of the pinned runs has a quota, which is newer than they are. */
const SALT = 0x0a;
const SHARE = 0.15;

export function withUsage(plan: WidePlan): WidePlan {
  const hasQuota = plan.seed >= FOREIGN_FROM && dice(seededRandom(plan.seed ^ SALT)).chance(SHARE);
  return hasQuota ? { ...plan, faults: { ...plan.faults, project_quota_used: 1 } } : plan;
}

/** A second of the run is a second of use, so the thresholds are crossed within the first busy time. */
export const QUOTA_SECONDS = 100;

/** The figure is corrected downwards in one of so many seconds. */
const CORRECTED_EVERY = 7;

export const isCorrected = (atMs: number) => usedSeconds(atMs) % CORRECTED_EVERY === 0;

export function monthMs(atMs: number, later: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + later);
}

export function usedSeconds(atMs: number): number {
  return Math.max(0, Math.floor((atMs - Math.max(monthMs(atMs, 0), START_MS)) / 1_000));
}

/** Returns what the row of a project shows of its usage. */
export function usageFields(world: WideWorld, nowMs: number): object {
  if (world.plan.faults.project_quota_used === 0) return {};
  const used = usedSeconds(nowMs);
  if (used >= QUOTA_SECONDS) world.fire('project_quota_used');
  return {
    active_time: 0,
    cpu_used_sec: isCorrected(nowMs) ? Math.floor(used / 2) : used,
    quota_reset_at: new Date(monthMs(nowMs, 1)).toISOString(),
    settings: { quota: { compute_time_seconds: QUOTA_SECONDS } },
  };
}
