/** Checks Project Usage Crossed: no crossing is invented, none is told twice, and the last one is told. */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS } from '../plan.ts';
import type { TruthProject } from '../upstream/truth.ts';
import { isCorrected, monthMs, QUOTA_SECONDS, usedSeconds } from '../usage.ts';
import type { Evidence } from './evidence.ts';

const THRESHOLDS = [75, 90, 100] as const;

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
      !isCorrected(atMs),
  );
  const [last] = shown.slice(-1);
  if (last === undefined) return undefined;
  const threshold = THRESHOLDS.findLast((each) => usedSeconds(last.atMs) * 100 >= each * QUOTA_SECONDS);
  return threshold && `${new Date(monthMs(last.atMs, 1)).toISOString()} ${threshold}`;
}
