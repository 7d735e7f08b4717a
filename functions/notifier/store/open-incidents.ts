/** Reads which incidents of an account have not ended from the keys of the list index, without reading an item. */

import { subjectOfIncident } from '../../../shared/alerts/incident-key.ts';
import { incidentsListOf } from '../../../shared/store/keys.ts';
import { LIST_INDEX, type TableIndexes } from '../../../shared/store/table.ts';
import type { OpenIncident, OpenIncidents } from '../deciding/incidents/context.ts';

/** One alert reads at most this many, which is one page of the index. More of them say no more to a person. */
export const OPEN_INCIDENTS_MAX = 500;

/** The name is that of `incidentOf`. */
interface ListedIncident extends OpenIncident {
  readonly name: string;
}

interface ListedIncidents extends OpenIncidents {
  readonly incidents: readonly ListedIncident[];
}

export async function readOpenIncidents(
  indexes: TableIndexes,
  accountId: string,
  sinceMs: number,
): Promise<ListedIncidents> {
  const { keys, next } = await indexes.query({
    index: LIST_INDEX,
    partition: incidentsListOf(accountId, 'open'),
    after: new Date(sinceMs).toISOString(),
    limit: OPEN_INCIDENTS_MAX,
  });
  return { incidents: keys.map(({ sortKey }) => openIncidentOf(sortKey)), isCut: next !== undefined };
}

function openIncidentOf(order: string): ListedIncident {
  const [began_at = '', name = ''] = order.split(' ');
  const { project_id, action } = subjectOfIncident(name);
  return { name, began_at, project_id, action };
}
