/**
 * Lets the planner of production decide for an ideal poller. Such a run differs from one of the whole poller by the
 * engine alone, and costs a tenth.
 */

import type { PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { activityOf } from '../../../functions/poller/planner/project-activity.ts';
import { projectIdOf, projectOf, timeOf } from '../bridge/virtual-upstream.ts';
import { LIST_ROWS } from './ideal-poller.ts';
import type { Policy, SeenPage } from './policies.ts';

/** The poller looks this often at what commands have recorded. */
const LOOK_MS = 1_000;

export function plannerPolicy(planner: PollPlanner, projectCount: number): Policy<SeenPage> {
  const list = createProjectList(projectCount);
  let started: number[] = [];
  let lookAtMs = 0;
  let isKnown = false;
  return {
    next(nowMs) {
      if (!isKnown) meetProjects(nowMs);
      if (nowMs >= lookAtMs) {
        for (const project of started) planner.askAtOnce(projectIdOf(project));
        started = [];
        lookAtMs = nowMs + LOOK_MS;
      }
      const decision = planner.next(nowMs);
      if (decision.kind === 'poll' || decision.kind === 'computes')
        return { kind: decision.kind, project: projectOf(decision.projectId) };
      return decision;
    },
    report(project, { hasNew, page, isWhole }, nowMs) {
      const result = { hasFailed: false, foundTransition: hasNew, hasLeftovers: false };
      planner.report(
        projectIdOf(project),
        { ...result, activity: activityOf(page(), isWhole, nowMs) },
        nowMs,
      );
    },
    reportComputes(project, shown, nowMs) {
      planner.reportComputes(projectIdOf(project), shown, nowMs);
    },
    reportPage(page, moved, nowMs) {
      list.move(moved);
      planner.reportPage(page, list.shown(page), nowMs);
    },
    takeCommand(project) {
      started.push(project);
    },
  };

  /** The poller reads the whole list before it polls any project. */
  function meetProjects(nowMs: number): void {
    isKnown = true;
    planner.addProjects(Array.from({ length: projectCount }, (_, project) => projectIdOf(project)));
    for (let page = 0; page * LIST_ROWS < projectCount; page++)
      planner.reportPage(page, list.shown(page), nowMs);
  }
}

/** Keeps the rows of the project list. A row is replaced when its project has moved. */
function createProjectList(projectCount: number) {
  const moveCounts = new Int32Array(projectCount);
  const rows = Array.from({ length: projectCount }, (_, project) => rowOf(project));

  return {
    move(projects: readonly number[]): void {
      for (const project of projects) {
        moveCounts[project] = (moveCounts[project] ?? 0) + 1;
        rows[project] = rowOf(project);
      }
    },
    shown(page: number) {
      const own = rows.slice(page * LIST_ROWS, (page + 1) * LIST_ROWS);
      return { rows: own, unavailableProjectIds: [], malformedRowCount: 0, cursor: own.at(-1)?.id };
    },
  };

  function rowOf(project: number) {
    return { id: projectIdOf(project), updated_at: timeOf(moveCounts[project] ?? 0) };
  }
}
