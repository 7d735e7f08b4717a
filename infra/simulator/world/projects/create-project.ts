/** Creates a project: its settings, its storage and its first compute. */

import { runBranchChain } from '../branches/branch-life.ts';
import { type ChainStart, runStart } from '../computes/compute-life.ts';
import { type ChainEnd, stepOn } from '../operations/operation-chain.ts';
import { kinds } from '../operations/operation-life.ts';
import { operationsStartedBy } from '../operations/started.ts';
import { faultOfSize } from '../state/compute-size.ts';
import type { NewProject } from '../state/new-project.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import { faultOfPlan, type Plan } from '../state/plan.ts';
import type { ProjectState, WorldOperation } from '../state/project-state.ts';
import { isRegion } from './regions.ts';

/** The storage comes first, and then the compute (observed: `create_timeline`, `start_compute`). */
export function createStorage(project: ProjectState, start: ChainStart): ChainEnd {
  const { main, branches, defaultBranchId } = project;
  const run = () =>
    runStart(project, { computes: [main], before: [stepOn(kinds.create_timeline, main)], ...start });
  const branch = branches.get(defaultBranchId);
  return branch === undefined
    ? run()
    : runBranchChain(branch, { atMs: start.atMs, current: 'init', next: 'ready' }, run);
}

export interface CreatedProject {
  readonly project: ProjectState;
  readonly operations: readonly WorldOperation[];
}

/** The world makes the project, or returns undefined when the account is full. */
export interface ProjectMaker {
  readonly plan: Plan;
  readonly createProject: (request: NewProject) => ProjectState | undefined;
}

/** Returns the new project with the operations that begin it. */
export function createProject(
  request: NewProject,
  nowMs: number,
  { plan, createProject: make }: ProjectMaker,
): Outcome<CreatedProject> {
  const { regionId, defaultSize } = request.settings;
  const fault = isRegion(regionId)
    ? (faultOfSize(defaultSize) ?? faultOfPlan(defaultSize, plan))
    : `region_id: ${regionId} is not offered`;
  if (fault !== undefined) return refused(400, `invalid request: ${fault}`);
  const project = make(request);
  if (project === undefined) return refused(422, 'projects limit exceeded', 'PROJECTS_LIMIT_EXCEEDED');
  const operations = operationsStartedBy(project, () =>
    createStorage(project, { atMs: nowMs, byCommand: true }),
  );
  return done({ project, operations });
}
