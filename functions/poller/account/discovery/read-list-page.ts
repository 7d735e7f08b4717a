/**
 * Reads one page of the project list in its turn. New projects are added, and projects whose fields moved are polled
 * soon.
 */

import type { Permit } from '../../../../shared/upstream/request-budget.ts';
import type { PollDecision, PollPlanner } from '../../planner/poll-planner.ts';
import { addProjects, type SightingDeps } from './add-projects.ts';
import type { Discovery } from './discovery.ts';
import { fetchListPage, type ListPageDeps, type ReadPage } from './fetch-list-page.ts';
import { restartAbsences } from './lose-projects.ts';

export interface ListReadingDeps extends ListPageDeps, SightingDeps {
  readonly clock: SightingDeps['clock'];
  readonly telemetry: SightingDeps['telemetry'];
  readonly planner: SightingDeps['planner'] & Pick<PollPlanner, 'reportPage'>;
}

export async function readListPage(
  deps: ListReadingDeps,
  discovery: Discovery,
  { page, cursor }: PollDecision & { kind: 'list' },
  permit: Permit,
): Promise<void> {
  let shown: ReadPage | undefined;
  try {
    shown = await fetchListPage(deps, cursor, permit);
    restartAbsences(discovery.projects, shown, deps.clock.now());
    await addProjects(deps, discovery, shown);
  } finally {
    deps.planner.reportPage(page, shown, deps.clock.now());
  }
}
