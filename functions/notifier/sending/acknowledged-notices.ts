/** Takes out of what is due what a person has acknowledged. */

import type { IncidentRecord } from '../../../shared/alerts/incidents/incident-record.ts';
import { isAcknowledged } from '../deciding/incidents/acknowledged.ts';
import type { WaitingNotice } from '../deciding/notices/pending-notice.ts';

export interface AcknowledgedIncidents {
  /**
   * Resolves to the incidents of all accounts that people have acknowledged: the open ones, and those whose
   * acknowledgement has changed within a day.
   */
  readonly readAcknowledged: () => Promise<readonly IncidentRecord[]>;
}

export interface Divided {
  readonly left: readonly WaitingNotice[];
  readonly acknowledged: readonly WaitingNotice[];
}

/** Reads the acknowledgements after the notices, so that what ended one of them before is seen. */
export async function divideAcknowledged(
  { readAcknowledged }: AcknowledgedIncidents,
  found: readonly WaitingNotice[],
): Promise<Divided> {
  if (found.length === 0) return { left: found, acknowledged: [] };
  const records = await readAcknowledged();
  const { left = [], acknowledged = [] } = Object.groupBy(found, ({ notice }) =>
    records.some((record) => isAcknowledged(notice, record)) ? 'acknowledged' : 'left',
  );
  return { left, acknowledged };
}
