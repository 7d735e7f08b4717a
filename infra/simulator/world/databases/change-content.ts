/** Changes the roles and databases of a branch; its compute applies the change to Postgres. */

import { primaryOf } from '../computes/compute-commands.ts';
import { runConfig } from '../computes/compute-life.ts';
import { isLocked, LOCKED } from '../operations/project-lock.ts';
import { operationsStartedBy } from '../operations/started.ts';
import { type Branch, branchPhaseAt } from '../state/branch.ts';
import { type BranchContent, contentAt, enterContent } from '../state/branch-content.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import type { ProjectState, WorldOperation } from '../state/project-state.ts';

/** This is where a command acts, and when. */
export interface ContentPlace {
  readonly project: ProjectState;
  readonly branch: Branch;
  /** The unit is milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface ContentChange<Item> {
  readonly item: Item;
  readonly operations: readonly WorldOperation[];
}

/** Reads of the API show the change at once, and Postgres has it from the end of `apply_config` on. */
export function changeContent<Item>(
  { project, branch, nowMs }: ContentPlace,
  item: Item,
  change: (content: BranchContent) => Partial<BranchContent>,
): Outcome<ContentChange<Item>> {
  const compute = primaryOf(project, branch.id);
  if (compute === undefined) return refused(422, 'the branch has no read_write endpoint');
  if (isLocked(project, nowMs)) return LOCKED;
  if (branchPhaseAt(branch, nowMs).current === 'init') return refused(422, 'branch not ready yet');
  const content = contentAt(branch.contents, nowMs);
  enterContent(branch.contents, { ...content, ...change(content), atMs: nowMs });
  const operations = operationsStartedBy(project, () =>
    runConfig(project, { compute, atMs: nowMs, byCommand: true }),
  );
  return done({ item, operations });
}
