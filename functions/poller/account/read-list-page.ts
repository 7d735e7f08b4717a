/** Reads one page of the project list, by itself in its turn or as a part of a whole listing. */

import type { Permit } from '../../../shared/upstream/request-budget.ts';
import type { PollDecision } from '../planner/poll-planner.ts';
import { fetchListPage, type ReadPage } from './fetch-list-page.ts';
import { noteShownProjects } from './lose-projects.ts';
import type { Run } from './run.ts';
import { addProjects } from './sight-projects.ts';

/** Whose fields moved is polled at once, and who is new is added. */
export async function readListPage(
  run: Run,
  { page, cursor }: PollDecision & { kind: 'list' },
  permit: Permit,
): Promise<void> {
  const { planner, clock } = run.deps;
  let shown: ReadPage | undefined;
  try {
    shown = await fetchListPage(run, cursor, permit);
    noteShownProjects(run, shown);
    await addProjects(run, shown);
  } finally {
    planner.reportPage(page, shown, clock.now());
  }
}
