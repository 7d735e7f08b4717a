/**
 * Lets projects use up a quota in some runs, and checks Project Usage Crossed: no crossing is invented, none is told twice, and the
 * last one is told.
 */

import { seededRandom } from '../../../shared/runtime/random.ts';
import type { Violation } from '../check-history.ts';
import { FOREIGN_FROM } from '../foreign-from.ts';
import type { Evidence } from './checker/evidence.ts';
import { dice, MINUTE_MS, type WidePlan } from './plan.ts';
import { START_MS } from './timeline.ts';
import type { TruthProject } from './upstream/truth.ts';
import type { WideWorld } from './world.ts';

/** With this salt none of the pinned runs has a quota, which is newer than they are. */
const SALT = 0x0a;
const SHARE = 0.15;

export function withUsage(plan: WidePlan): WidePlan {
  const hasQuota = plan.seed >= FOREIGN_FROM && dice(seededRandom(plan.seed ^ SALT)).chance(SHARE);
  return hasQuota ? { ...plan, faults: { ...plan.faults, project_quota_used: 1 } } : plan;
}

/** A second of the run is a second of use, so the thresholds are crossed within the first busy time. */
const QUOTA_SECONDS = 100;
const THRESHOLDS = [75, 90, 100] as const;

/** The figure is corrected downwards in one of so many seconds. */
const CORRECTED_EVERY = 7;

const monthMs = (atMs: number, later: number) => {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + later);
};

function usedSeconds(atMs: number): number {
  return Math.max(0, Math.floor((atMs - Math.max(monthMs(atMs, 0), START_MS)) / 1_000));
}

/** Returns what the row of a project shows of its usage. */
export function usageFields(world: WideWorld, nowMs: number): object {
  if (world.plan.faults.project_quota_used === 0) return {};
  const used = usedSeconds(nowMs);
  if (used >= QUOTA_SECONDS) world.fire('project_quota_used');
  return {
    active_time: 0,
    cpu_used_sec: used % CORRECTED_EVERY === 0 ? Math.floor(used / 2) : used,
    quota_reset_at: new Date(monthMs(nowMs, 1)).toISOString(),
    settings: { quota: { compute_time_seconds: QUOTA_SECONDS } },
  };
}

export function checkUsage(evidence: Evidence): readonly Violation[] {
  const { stage, events } = evidence;
  // A table that was set back has forgotten what was told.
  if (stage.restores.length > 0 || stage.world.plan.faults.project_quota_used === 0) return [];
  return stage.upstream.truth.projects.flatMap((project) => {
    const own = events.filter(
      ({ event, detailType }) => detailType === 'Project Usage Crossed' && event.project_id === project.id,
    );
    const wrong = (rule: string, detail = '') => [{ rule, operation_id: project.id, detail }];
    const keys = own.map(({ event }) => `${event.resets_at} ${event.threshold_percent}`);
    const repeated = keys.filter((key, place) => keys.indexOf(key) !== place);
    const invented = own.filter(({ event, atMs }) => !isTrue(event, atMs));
    const owed = lastOwed(evidence, project);
    return [
      ...repeated.flatMap((key) => wrong('usage-told-twice', key)),
      ...invented.flatMap(({ event }) => wrong('usage-invented', `${event.used} of ${event.limit}`)),
      ...(owed !== undefined && !keys.includes(owed) ? wrong('usage-not-told', owed) : []),
    ];
  });
}

/** A crossing is true when so much of that period was used by the time at which the bus took its event. */
function isTrue(
  { used = Number.NaN, threshold_percent = 0, resets_at }: Evidence['events'][number]['event'],
  atMs: number,
): boolean {
  const endMs = Date.parse(resets_at ?? '');
  const mostUsed = atMs < endMs ? usedSeconds(atMs) : usedSeconds(endMs - 1);
  return used <= mostUsed && used * 100 >= threshold_percent * QUOTA_SECONDS && endMs === monthMs(endMs, 0);
}

/** In the calm, the figures of a list that a poller has got are looked at within seconds, and what is not recorded is tried again. */
function lastOwed({ stage, answers }: Evidence, { id }: TruthProject): string | undefined {
  const { calm } = stage.timeline;
  const shown = answers.filter(
    ({ atMs, shownIds, unavailableIds }) =>
      atMs >= calm.fromMs + MINUTE_MS &&
      atMs < calm.toMs - MINUTE_MS &&
      shownIds.includes(id) &&
      !unavailableIds.includes(id) &&
      usedSeconds(atMs) % CORRECTED_EVERY !== 0,
  );
  const [last] = shown.slice(-1);
  if (last === undefined) return undefined;
  const threshold = THRESHOLDS.findLast((each) => usedSeconds(last.atMs) * 100 >= each * QUOTA_SECONDS);
  return threshold && `${new Date(monthMs(last.atMs, 1)).toISOString()} ${threshold}`;
}
