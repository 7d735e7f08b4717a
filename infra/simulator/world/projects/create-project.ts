/** Begins the storage and the first compute of a new project. */

import { runBranchChain } from '../branches/branch-life.ts';
import { type ChainStart, runStart } from '../computes/compute-life.ts';
import { type ChainEnd, stepOn } from '../operations/operation-chain.ts';
import { kinds } from '../operations/operation-life.ts';
import type { ProjectState } from '../state/project-state.ts';

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
