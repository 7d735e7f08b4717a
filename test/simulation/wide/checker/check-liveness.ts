/**
 * Checks that the bridge catches up within a bound once the world is calm: every project is read, and every final
 * state is published in time.
 */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS, type WidePlan } from '../plan.ts';
import { VANISHED_AFTER_MS } from '../promised.ts';
import { isOver, isWithin, lastStateOf, type TruthProject, type WideOperation } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';

/**
 * The bridge leaves a project alone for up to five minutes after a failure, and the account when the upstream asks
 * for it. Half a minute is added here.
 */
export const LEFT_ALONE_MS_MAX = 5.5 * MINUTE_MS;

/**
 * Returns how long a project with an open operation can wait for its turn: four rounds, or a minute if that is longer.
 * Then 75 seconds are left for an invocation to begin and the event to arrive.
 */
export function turnMs({ stage }: Evidence, rounds = 4): number {
  const { plan } = stage.world;
  const roundMs = (stage.upstream.truth.projects.length * MINUTE_MS) / plan.requestsPerMinute;
  return Math.max(MINUTE_MS, rounds * roundMs) + 1.25 * MINUTE_MS;
}

/**
 * Any other project can wait for up to sixteen rounds where the project list has shown what changes. Where most permits go to what the list
 * shows it can be 52, but then the list shows nearly everything, and these worlds are not that busy.
 */
function quietTurnMs(evidence: Evidence): number {
  const isListed = evidence.stage.world.fired.has('project_list_hint_moved');
  return turnMs(evidence, isListed ? 16 : 4);
}

export function checkLiveness(evidence: Evidence): readonly Violation[] {
  const { projects } = evidence.stage.upstream.truth;
  return [
    ...projects.flatMap((project) => unread(evidence, project)),
    ...late(evidence),
    ...backlog(evidence),
  ];
}

function unread(
  evidence: Evidence,
  { id, visible, failing, malformed, notFound }: TruthProject,
): readonly Violation[] {
  const { calm } = evidence.stage.timeline;
  const untilMs = calm.fromMs + LEFT_ALONE_MS_MAX + quietTurnMs(evidence);
  const isReadable =
    isWithin(visible, calm.fromMs) &&
    notFound.length === 0 &&
    [failing, malformed].every((spans) => !isWithin(spans, calm.fromMs));
  const wasRead = evidence.answers.some(
    ({ route, projectId, atMs }) =>
      route === 'operations' && projectId === id && atMs >= calm.fromMs && atMs <= untilMs,
  );
  return isReadable && !wasRead && untilMs <= calm.toMs
    ? [{ rule: 'unread', operation_id: id, detail: 'not read once in the calm' }]
    : [];
}

/** A poll reads at least this many pages, and a page has at least one row. */
const ROWS_PER_POLL_MIN = 4;

/**
 * Finds final states that were published late, among those that an ordinary reading shows. A state that only a sweep
 * finds comes with the sweep.
 */
function late(evidence: Evidence): readonly Violation[] {
  const { stage, events, listedAtMs } = evidence;
  if (stage.restores.length > 0) return [];
  const { calm } = stage.timeline;
  const { projects } = stage.upstream.truth;
  return projects.flatMap((project) => {
    const knownMs = listedAtMs(project) ?? Number.POSITIVE_INFINITY;
    // An unreadable item is readable again at most four minutes into the calm, and then it is left alone as after any
    // other failure.
    const isUnreadable = [...stage.unreadable].some((key) => key.endsWith(`#${project.id} PROJECT`));
    const isUsual =
      !isUnreadable &&
      project.failingBelowUs === undefined &&
      [project.failing, project.malformed, project.unavailable, project.notFound].flat().length === 0;
    if (
      !isUsual ||
      !isShort(stage.world.plan, project) ||
      !isWithin(project.visible, calm.fromMs) ||
      knownMs > calm.fromMs
    )
      return [];
    return project.operations.flatMap((op) => {
      const end = lastStateOf(op);
      if (
        end === undefined ||
        !isOver(end) ||
        isHidden(stage.world.plan, project, op) ||
        op.createdUs / 1_000 < knownMs
      )
        return [];
      const fromMs = Math.max(
        end.atMs,
        op.visibleAtMs,
        calm.fromMs + (wasLeftAlone(evidence) ? LEFT_ALONE_MS_MAX : 3 * MINUTE_MS),
      );
      const dueMs = fromMs + quietTurnMs(evidence) + VANISHED_AFTER_MS;
      const told = events.find(
        ({ event }) =>
          event.operation_id === op.id &&
          event.status === end.status &&
          event.failures_count === end.failures_count,
      );
      const isLate = dueMs < calm.toMs && (told?.atMs ?? Number.POSITIVE_INFINITY) > dueMs;
      return isLate
        ? [{ rule: 'late', operation_id: op.id, detail: `due ${new Date(dueMs).toISOString()}` }]
        : [];
    });
  });
}

/** Returns true when one poll can read the whole list. A list of many short pages takes several polls. */
export function isShort({ operationPageMax }: WidePlan, { operations }: TruthProject): boolean {
  return operations.length <= ROWS_PER_POLL_MIN * operationPageMax;
}

export function isHidden(
  { visibleLateMsMax, walkLimits }: WidePlan,
  project: TruthProject,
  op: WideOperation,
): boolean {
  const isTied = project.operations.some((other) => other !== op && other.createdUs === op.createdUs);
  const reopens = op.states.slice(0, -1).some(isOver);
  // A row that becomes visible within the overlap is found without a sweep.
  const isWithinOverlap = visibleLateMsMax <= walkLimits.overlapMs;
  const isLate = op.visibleAtMs > op.createdUs / 1_000 && !isWithinOverlap;
  const isWrong = (op.shiftedMs ?? 0) < 0 || op.readingIs !== undefined;
  return (
    isTied || reopens || isLate || isWrong || op.malformedUntilMs > 0 || Number.isFinite(op.vanishesAtMs)
  );
}

/**
 * Returns true when the upstream itself asked for a pause or refused the key, or when a frozen process kept the only place
 * of an invocation.
 */
function wasLeftAlone({ stage }: Evidence): boolean {
  const { fired, plan } = stage.world;
  if (plan.isReserved && fired.has('lambda_frozen')) return true;
  return stage.upstream.log.some(({ status }) => status === 429 || status === 401);
}

function backlog({ stage }: Evidence): readonly Violation[] {
  return stage.tableSide.table.sync
    .items()
    .filter((item) => 'entries' in item && Number(item['published'] ?? 0) < Number(item['revision'] ?? 0))
    .map(({ pk, sk }) => ({ rule: 'backlog', operation_id: sk, detail: pk }));
}
