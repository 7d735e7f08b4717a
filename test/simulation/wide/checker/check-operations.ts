/**
 * Checks the chains of State Changed events against the true histories: nothing is lost, nothing is invented, and no
 * history is published as news.
 */

import { SWEEP_DEPTH_MS } from '../../../../functions/poller/project/walk.ts';
import { checkHistory, type Expectation, type TrueHistory, type Violation } from '../../check-history.ts';
import { stateAt } from '../../upstream-model.ts';
import { RETENTION_MS } from '../promised.ts';
import {
  isOver,
  isWithin,
  lastStateOf,
  type TruthProject,
  type WideOperation,
  wasOverBefore,
} from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';
import { hadSeenTheList } from './seen-list.ts';

export function checkOperations(evidence: Evidence): readonly Violation[] {
  const { stage, told } = evidence;
  const truth = expectationsOf(evidence);
  if (stage.restores.length > 0) return [];
  return [...checkHistory(truth, told), ...checkBackfilled(evidence, truth)];
}

/** Checks that with `backfill: all` history is published as history, so that it raises no alert. */
function checkBackfilled({ stage, events }: Evidence, truth: readonly Owed[]): readonly Violation[] {
  if (stage.world.plan.backfill !== 'all' || stage.world.fired.has('http_date_behind')) return [];
  const old = new Set(truth.filter(({ isHistory }) => isHistory).map(({ operation_id }) => operation_id));
  return events
    .filter(
      ({ detailType, event }) =>
        detailType === 'Operation State Changed' && old.has(event.operation_id ?? ''),
    )
    .filter(({ event }) => event.observed_by !== 'backfill')
    .map(({ event, detail }) => ({
      rule: 'history',
      operation_id: event.operation_id ?? '',
      detail: `as news: ${detail}`,
    }));
}

interface Owed extends TrueHistory {
  /** Says whether the operation had ended before the bridge saw the project. */
  readonly isHistory: boolean;
  /** Says whether the operation began before the bridge saw the project. */
  readonly isOlder: boolean;
}

export function expectationsOf(evidence: Evidence): readonly Owed[] {
  const { projects } = evidence.stage.upstream.truth;
  const firstListedMs = Math.min(
    ...projects.map((project) => evidence.listedAtMs(project) ?? Number.POSITIVE_INFINITY),
  );
  return projects.flatMap((project) => {
    const sight = sightOf(evidence, project, firstListedMs);
    return project.operations.map((op) => ({
      operation_id: op.id,
      states: op.states,
      isOlder: op.createdUs / 1_000 < sight.fromMs,
      ...owed(evidence, op, { project, sight }),
    }));
  });
}

interface Sight {
  /** Operations that ended before this time are history. */
  readonly fromMs: number;
  /** Operations that began at this time or later are news. */
  readonly certainMs: number;
  /**
   * It is set when the table was set back to before it had met the project. It holds when the project's operations
   * were read for the first time after that.
   */
  readonly metAgainMs?: number;
}

const A_MINUTE_MS = 60_000;

const NEVER_SEEN = Number.POSITIVE_INFINITY;

/**
 * Returns the times that separate a project's history from its news. A project that was created while the bridge
 * watched has no history.
 */
function sightOf(evidence: Evidence, project: TruthProject, firstListedMs: number): Sight {
  const A_SECOND_MS = 1_000;
  const listedMs = evidence.listedAtMs(project) ?? NEVER_SEEN;
  const bootMs = evidence.answers.find(({ route }) => route === 'projects')?.atMs ?? NEVER_SEEN;
  const askedMs = firstAskedMs(evidence);
  const shownMs = evidence.shownAtMs(project) ?? NEVER_SEEN;
  // The table was set back to before it had met the project, so the project is met a second time.
  const restore = evidence.stage.restores.find(({ toMs }) => !hadMet(evidence, project, toMs));
  if (restore !== undefined) {
    const metAgainMs = listedAgainMs(evidence, project, restore.atMs);
    return { fromMs: Math.min(shownMs, askedMs), certainMs: NEVER_SEEN, metAgainMs };
  }
  // A project that was visible at the account's first answer counts as seen then, however long the list takes to its
  // end.
  if (isWithin(project.visible, bootMs)) {
    const certainMs = Math.max(listedMs, shownAgainMs(evidence, project, bootMs));
    return { fromMs: askedMs, certainMs };
  }
  // Until the list has shown everything once, a project that turns up may have been there from the beginning.
  if (!hadSeenTheList(evidence, project, shownMs)) return { fromMs: askedMs, certainMs: listedMs };
  if (project.createdMs >= firstListedMs + A_SECOND_MS) return { fromMs: 0, certainMs: 0 };
  if (project.createdMs >= bootMs - A_SECOND_MS) return { fromMs: 0, certainMs: listedMs };
  // The request that showed it was made before its answer came, and may have waited for its permit.
  return { fromMs: shownMs - CLOCKS_DIFFER_MS, certainMs: listedMs };
}

/** Two clocks may differ by half of this. */
const CLOCKS_DIFFER_MS = 25_000;

/**
 * The bridge may count from when its first process began, by a clock that is behind, and a replica that lags may show what was true
 * before that: nothing is lost by either.
 */
function firstAskedMs({ stage }: Evidence): number {
  const beganMs = stage.invocations[0]?.fromMs ?? NEVER_SEEN;
  return beganMs - CLOCKS_DIFFER_MS / 2 - (stage.world.plan.replicaLagMsMax ?? 0);
}

/** The first listing of an account is read within this time. */
const FIRST_LISTING_MS_MAX = 2 * A_MINUTE_MS;

/**
 * A first listing that leaves a project out without a word makes it look as if it had come later. Returns when the list shows
 * it after that, or the boot when it was not left out.
 */
function shownAgainMs({ answers }: Evidence, { id, malformed }: TruthProject, bootMs: number): number {
  const leftOut = answers.find(
    ({ withheldIds, atMs }) =>
      atMs <= bootMs + FIRST_LISTING_MS_MAX && withheldIds.includes(id) && !isWithin(malformed, atMs),
  );
  if (leftOut === undefined) return bootMs;
  const shown = answers.find(({ shownIds, atMs }) => atMs > leftOut.atMs && shownIds.includes(id));
  return shown?.atMs ?? NEVER_SEEN;
}

/**
 * Returns whether the table holds the project by then. A throttled table may have lost one sighting of it, so one
 * alone does not count.
 */
function hadMet(evidence: Evidence, project: TruthProject, byMs: number): boolean {
  const SIGHTINGS_MIN = 2;
  const listedMs = evidence.listedAtMs(project) ?? NEVER_SEEN;
  const sightings = evidence.answers.filter(
    ({ shownIds, atMs }) => shownIds.includes(project.id) && atMs <= byMs - A_MINUTE_MS,
  );
  return listedMs <= byMs - A_MINUTE_MS || sightings.length >= SIGHTINGS_MIN;
}

function listedAgainMs({ answers }: Evidence, { id }: TruthProject, afterMs: number): number {
  const first = answers.find(
    ({ route, projectId, atMs }) => route === 'operations' && projectId === id && atMs > afterMs,
  );
  return first?.atMs ?? NEVER_SEEN;
}

function owed(
  evidence: Evidence,
  op: WideOperation,
  { project, sight }: { readonly project: TruthProject; readonly sight: Sight },
): { readonly expects: Expectation; readonly isHistory: boolean } {
  const { stage } = evidence;
  const { backfill } = stage.world.plan;
  const { endMs } = stage.timeline;
  const isGone = Number.isFinite(op.vanishesAtMs) || !isWithin(project.visible, endMs - 1);
  const isClosed = [project.failing, project.malformed].some((spans) => isWithin(spans, endMs - 1));
  // Of what can never be read nothing is owed, and its neighbours are judged all the same.
  const isUnreadable =
    op.hasNoTime === true || op.readingIs !== undefined || project.failingBelowUs !== undefined;
  const createdMs = Math.floor(op.createdUs / 1_000_000) * 1_000;
  const isCommanded = stage.commands.some(({ operationIds }) => operationIds.includes(op.id));
  const isHistory = !isCommanded && wasOverBefore(op, sight.fromMs - 1_000) && createdMs < sight.fromMs;
  if (isUnreadable) return { expects: 'whatever_was_seen', isHistory: false };
  if (isHistory && backfill !== 'all') {
    // By an answer that is behind, the bridge came earlier, and what had ended then is news: nothing is lost by it.
    const isUnsure = wasHidden(op, sight) || stage.world.fired.has('http_date_behind');
    return { expects: isUnsure ? 'final_state_if_told' : 'nothing_ever', isHistory };
  }
  // A project that the restored table has not met looks like one that was transferred just then. What had ended by
  // now is history there, and history is never published, although the beginning of it was published before.
  const wasForgotten = sight.metAgainMs !== undefined && wasOverBefore(op, sight.metAgainMs + A_MINUTE_MS);
  if (isGone || isClosed || wasForgotten) return { expects: 'whatever_was_seen', isHistory: false };
  const isOld = isHistory && !wasHidden(op, sight);
  if (wasReopenedAsleep(evidence, op)) return { expects: 'whatever_was_seen', isHistory: isOld };
  if (isHistory && (isHiddenForGood(evidence, op, sight) || fillsHalfAPage(evidence, op)))
    return { expects: 'final_state_if_told', isHistory: isOld };
  if (isHistory) return { expects: 'final_state', isHistory: isOld };
  if (createdMs >= sight.certainMs && !fillsHalfAPage(evidence, op))
    return { expects: 'final_state', isHistory: false };
  return { expects: 'final_state_if_told', isHistory: false };
}

/**
 * The second one of two rows of one microsecond may stand behind the end of a page, and no sweep looks so far down, or none
 * does after weeks.
 */
function isHiddenForGood({ stage }: Evidence, op: WideOperation, { fromMs }: Sight): boolean {
  const isSwept = stage.world.plan.gapMs === 0 && op.createdUs / 1_000 >= fromMs - SWEEP_DEPTH_MS;
  return !isSwept && countTied(stage, op) > 1;
}

/** Where half a page has one microsecond, no page may show all of its rows, whatever sizes a sweep draws (PROTOCOL.md). */
function fillsHalfAPage({ stage }: Evidence, op: WideOperation): boolean {
  const { operationPageMax, walkLimits } = stage.world.plan;
  const tiedCount = countTied(stage, op);
  return tiedCount > 1 && 2 * tiedCount >= Math.min(operationPageMax, walkLimits.widePageRows);
}

/** Counts the operations of the microsecond, this one included. */
function countTied({ upstream }: Evidence['stage'], { project_id, createdUs }: WideOperation): number {
  const operations = upstream.truth.operations();
  return operations.filter((other) => other.project_id === project_id && other.createdUs === createdUs)
    .length;
}

/**
 * An operation that had ended before the bridge was switched off, and was reopened meanwhile, is found out as long as the table has it.
 * After that it looks like one that is known and forgotten (docs/simulation.md).
 */
function wasReopenedAsleep({ stage: { world, timeline } }: Evidence, op: WideOperation): boolean {
  const { gapMs, isAsleep } = world.plan;
  const wakesMs = timeline.busy[1].fromMs;
  const state = stateAt(op, wakesMs - gapMs);
  const changedMs = lastStateOf(op)?.atMs ?? 0;
  if (!isAsleep || gapMs < RETENTION_MS || state === undefined) return false;
  return isOver(state) && changedMs > wakesMs - gapMs && changedMs < wakesMs;
}

/**
 * Returns true when the first reading could not see the operation, so that it is rightly published when it turns up.
 */
function wasHidden(op: WideOperation, { certainMs }: Sight): boolean {
  return op.visibleAtMs > certainMs - 1_000 || op.malformedUntilMs > certainMs - 1_000;
}
