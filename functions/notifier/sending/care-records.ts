/** Defines what sending reads of incidents, to say in their messages who takes care of them. */

import type { IncidentRecord } from '../../../shared/alerts/incidents/incident-record.ts';
import type { IncidentStore } from '../../../shared/alerts/incidents/incident-store.ts';

export interface CareRecords {
  readonly incidentsOf: (accountId: string) => Pick<IncidentStore, 'read' | 'readMany'>;
  /** Resolves to incidents of the account that are open, at most one page of the index. */
  readonly readOpenRecords: (accountId: string) => Promise<readonly IncidentRecord[]>;
}
