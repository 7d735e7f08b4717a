/** Asks the upstream for one page of the project list. */

import type { Permit } from '../../../shared/upstream/request-budget.ts';
import type { ListingPage } from '../planner/listing.ts';
import type { ShownPage } from '../planner/poll-planner.ts';
import type { Run } from './run.ts';

/** The most projects the list gives on one page (public contract; the specification shows no paging). */
export const PROJECT_PAGE_ROWS = 400;

export interface ReadPage extends ShownPage, ListingPage {
  readonly cursor: string | undefined;
  /** When the upstream created each project, as far as the page says. */
  readonly createdAtOf: ReadonlyMap<string, string>;
  /** The upstream's clock. */
  readonly serverDateMs: number;
}

export async function fetchListPage(
  { deps, stop }: Run,
  cursor: string | undefined,
  permit?: Permit,
): Promise<ReadPage> {
  const query = { limit: PROJECT_PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
  const page = await deps.upstream.listProjects(query, { signal: stop.signal, permit });
  const { projects, unavailableProjectIds, malformedRowCount } = page;
  if (malformedRowCount > 0) deps.telemetry.measure('MalformedRows', malformedRowCount);
  return {
    rows: projects,
    projectIds: projects.map(({ id }) => id),
    unavailableProjectIds,
    malformedRowCount,
    isEmpty: projects.length + unavailableProjectIds.length + malformedRowCount === 0,
    cursor: page.cursor,
    createdAtOf: new Map(projects.flatMap(({ id, created_at }) => (created_at ? [[id, created_at]] : []))),
    serverDateMs: page.serverDateMs ?? deps.clock.now(),
  };
}
