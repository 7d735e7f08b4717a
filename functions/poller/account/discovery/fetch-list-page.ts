/** Asks the upstream for one page of the project list. */

import { earlierNowMs } from '../../../../shared/core/time/timestamp.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { Permit } from '../../../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../../../shared/upstream/upstream-client.ts';
import type { ListingPage } from '../../planner/listing.ts';
import type { ShownPage } from '../../planner/project-list.ts';
import type { ProjectNamesPort } from './keep-names.ts';

/** The list gives at most this many projects on one page (public contract; the specification shows no paging). */
export const PROJECT_PAGE_ROWS = 400;

export interface ReadPage extends ShownPage, ListingPage {
  readonly cursor: string | undefined;
  /** Maps the id of each project to the time at which the upstream created it, as far as the page says. */
  readonly createdAtOf: ReadonlyMap<string, string>;
  /** What the page does not show has begun after this time (`earlierNowMs`). */
  readonly readAtMs: number;
}

export interface ListPageDeps {
  readonly upstream: Pick<UpstreamClient, 'listProjects'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** Takes the names that a page shows. It is undefined when names are not kept. */
  readonly names?: Pick<ProjectNamesPort, 'take'> | undefined;
  /** It is aborted when the invocation stops. */
  readonly signal: AbortSignal;
}

/** `cursor` is undefined at the beginning of the list. `permit` is undefined when the request has to take its own. */
export async function fetchListPage(
  { upstream, clock, telemetry, names, signal }: ListPageDeps,
  cursor: string | undefined,
  permit?: Permit,
): Promise<ReadPage> {
  const query = { limit: PROJECT_PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
  const requestedMs = clock.now();
  const page = await upstream.listProjects(query, { signal, permit });
  const { projects, unavailableProjectIds, malformedRowCount } = page;
  names?.take(projects);
  if (malformedRowCount > 0) telemetry.measure('MalformedRows', malformedRowCount);
  return {
    rows: projects,
    projectIds: projects.map(({ id }) => id),
    unavailableProjectIds,
    malformedRowCount,
    isEmpty: projects.length + unavailableProjectIds.length + malformedRowCount === 0,
    cursor: page.cursor,
    createdAtOf: new Map(projects.flatMap(({ id, created_at }) => (created_at ? [[id, created_at]] : []))),
    readAtMs: earlierNowMs({ requestedMs, serverDateMs: page.serverDateMs }),
  };
}
