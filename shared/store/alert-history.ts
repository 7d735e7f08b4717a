/** Whether people were told of events, as the notifier's own items say. */

import { incidentSchema } from '../alerts/incident.ts';
import type { OperationRecord } from '../core/operation-record.ts';
import { alertIncidentKey } from './keys.ts';
import type { Table } from './table.ts';

export interface ToldAlert {
  readonly channel: string;
  /** Events of the operation that went out on it, and those that still wait. */
  readonly toldCount: number;
  readonly waitingCount: number;
}

/** As the notifier names them. */
const CHANNELS = ['slack', 'email'] as const;

/** Channels that have had nothing to tell of this operation are left out. */
export async function readAlertHistory(
  table: Table,
  { account_id, project_id, action, entries }: OperationRecord,
): Promise<readonly ToldAlert[]> {
  const incident = [account_id, project_id, action].join('|');
  const ids = new Set(entries.map(({ id }) => id));
  const found = await Promise.all(
    CHANNELS.map(async (channel): Promise<ToldAlert> => {
      const item = await table.get(alertIncidentKey(channel, incident));
      const { told_ids = [], pending = [] } = incidentSchema.safeParse(item?.['body']).data ?? {};
      return {
        channel,
        toldCount: told_ids.filter((id) => ids.has(id)).length,
        waitingCount: pending.filter(({ id }) => ids.has(id)).length,
      };
    }),
  );
  return found.filter(({ toldCount, waitingCount }) => toldCount + waitingCount > 0);
}
