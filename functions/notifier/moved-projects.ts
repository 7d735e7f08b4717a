/** Ends what a project that has moved to another account had open under its old one, because its operations go on there. */

import { incidentIdOf, isOngoing, keyPart } from '../../shared/alerts/incidents.ts';
import { projectTransferred } from '../../shared/events/catalog.ts';
import type { Notice } from './deciding/notice.ts';
import type { ContextDeps } from './sending/plan-messages.ts';

export interface MoveDeps {
  readonly store: ContextDeps['store'];
}

/**
 * Resolves to a notice for each operation of the project that fails or takes too long under its old account, and to the
 * same ones for a copy of the event until they are recorded. What was given up waits for a person, wherever the project is.
 * Of an account with more open incidents than one page of the list holds, the oldest are looked at.
 */
export async function noticesOfMove({ store }: MoveDeps, detail: unknown): Promise<readonly Notice[]> {
  const { id, observed_at, project_id, ...accounts } = projectTransferred.detail.parse(detail);
  const { from_account_id: account_id, to_account_id: moved_to } = accounts;
  const { incidents } = await store.openIncidents(account_id, 0);
  const own = incidents.filter((incident) => incident.project_id === keyPart(project_id));
  const records = await store.incidentsOf(account_id).readMany(own.map(({ name }) => incidentIdOf(name)));
  return records.flatMap(({ operations, action }) =>
    Object.entries(operations)
      .filter(([, { state }]) => isOngoing(state))
      .map(([operation_id, { sequence }]) => ({
        id: `moved ${id} ${operation_id}`,
        kind: 'moved' as const,
        severity: 'info' as const,
        account_id,
        moved_to,
        observed_at,
        project_id,
        operation_id,
        ...(action !== undefined && { action }),
        ...(sequence !== undefined && { sequence }),
      })),
  );
}
