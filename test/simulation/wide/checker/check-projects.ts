/** Checks that Project Discovered and Project Unreachable are published when they are true, and only then. */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS } from '../plan.ts';
import { START_MS } from '../timeline.ts';
import { isWithin, type TruthProject } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';
import { hadSeenTheList } from './seen-list.ts';

const VISIBILITY: ReadonlySet<string> = new Set(['Project Discovered', 'Project Unreachable']);

export function checkProjects(evidence: Evidence): readonly Violation[] {
  const { stage, events } = evidence;
  if (stage.restores.length > 0) return [];
  return stage.upstream.truth.projects.flatMap((project) => {
    const own = events.filter(
      ({ event, detailType }) => event.project_id === project.id && VISIBILITY.has(detailType),
    );
    const wrong = (rule: string) => [{ rule, operation_id: project.id, detail: '' }];
    const lies = own.flatMap(({ detailType, atMs }) => {
      const isDiscovery = detailType === 'Project Discovered';
      // A project that was published as unreachable is discovered once more.
      const isBack = own.some((told) => told.detailType === 'Project Unreachable' && told.atMs <= atMs);
      if (isDiscovery && !isBack && wasKnown(evidence, project, atMs)) return wrong('discovered-again');
      return !isDiscovery && wasAlwaysThere(project, atMs) ? wrong('unreachable-in-vain') : [];
    });
    const names = own.map(({ detailType }) => detailType);
    const isLost = isOwedUnreachable(evidence, project) && !names.includes('Project Unreachable');
    const isNew = isOwedDiscovered(evidence, project) && !names.includes('Project Discovered');
    return [
      ...lies,
      ...(isLost ? wrong('unreachable-not-told') : []),
      ...(isNew ? wrong('discovered-not-told') : []),
    ];
  });
}

/** Returns true when the project was visible from the first day, was left out of no answer, and was never gone. */
function wasKnown({ answers, stage }: Evidence, project: TruthProject, atMs: number): boolean {
  const wasLeftOut = answers.some(
    ({ withheldIds, atMs: at }) => at <= atMs && withheldIds.includes(project.id),
  );
  const isOld = isWithin(project.visible, START_MS);
  void stage;
  return isOld && !wasLeftOut && !wasEverGone(project, atMs);
}

function wasAlwaysThere(project: TruthProject, atMs: number): boolean {
  const hasFailed =
    project.failing.some(({ fromMs }) => fromMs <= atMs) || project.failingBelowUs !== undefined;
  return !wasEverGone(project, atMs) && !hasFailed;
}

function wasEverGone({ visible }: TruthProject, atMs: number): boolean {
  return visible.some(({ toMs }) => toMs <= atMs);
}

/**
 * Returns true when the project was deleted for good before the calm, after it was known, and one process has met
 * enough refusals of it.
 */
function isOwedUnreachable({ stage, listedAtMs }: Evidence, project: TruthProject): boolean {
  const goneMs = project.visible.at(-1)?.toMs ?? 0;
  const knownMs = listedAtMs(project);
  if (goneMs >= stage.timeline.calm.fromMs || knownMs === undefined || knownMs >= goneMs) return false;
  const { log } = stage.upstream;
  const refusals = Map.groupBy(
    log.filter(
      ({ route, projectId, status, atMs, isDelivered }) =>
        isDelivered && route === 'unknown' && projectId === project.id && status === 404 && atMs >= goneMs,
    ),
    ({ by }) => by,
  );
  const isDoubtful = log.some(
    ({ withheldIds, unavailableIds, atMs }) =>
      atMs >= goneMs && withheldIds.length + unavailableIds.length > 0,
  );
  const { account_broken, project_moved } = stage.world.plan.faults;
  const usual = account_broken + project_moved > 0 ? EVIDENCE_BESIDE_OTHERS : EVIDENCE;
  const { count, spanMs } = isDoubtful ? DOUBTFUL_EVIDENCE : usual;
  return [...refusals.values()].some(
    (own) => own.length >= count && (own.at(-1)?.atMs ?? 0) - (own[0]?.atMs ?? 0) >= spanMs,
  );
}

/**
 * The bridge must publish a project as unreachable once one process has received this many refusals over this span. It
 * needs fewer: three of them ask for two listings, and an invocation that ends when it is not needed has room for one
 * step. A list that is partial proves less.
 */
const EVIDENCE = { count: 6, spanMs: 3 * MINUTE_MS } as const;

/** Where the bridge has other accounts, the project may have moved to one of them, and its list is waited for. */
const EVIDENCE_BESIDE_OTHERS = { count: 6, spanMs: 6 * MINUTE_MS } as const;
const DOUBTFUL_EVIDENCE = { count: 8, spanMs: 30 * MINUTE_MS } as const;

/** Returns true when the project came after one process had seen the whole list, and has been shown since. */
function isOwedDiscovered(evidence: Evidence, project: TruthProject): boolean {
  const cameMs = project.visible[0]?.fromMs ?? 0;
  if (cameMs <= START_MS || evidence.shownAtMs(project) === undefined) return false;
  return hadSeenTheList(evidence, project, cameMs);
}
