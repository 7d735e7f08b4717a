/** Keeps the records of incidents in the table. The notifier writes how they stand, and callers acknowledge them. */

import { DAY_MS } from '../../core/time/durations.ts';
import { isoTimeOf } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { AppError } from '../../runtime/errors.ts';
import { listed } from '../../store/items.ts';
import { ACKNOWLEDGED_WORK, incidentKey, incidentsListOf } from '../../store/keys.ts';
import { type Attribute, type Item, type Table, type Update, WORK_INDEX } from '../../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../../store/unreadable.ts';
import { incidentNameOf, incidentPartsOf } from '../incident-key.ts';
import { type IncidentRecord, incidentRecord, isOpen } from './incident-record.ts';

export const INCIDENT_ATTRIBUTES: readonly string[] = Object.keys(incidentRecord.shape);

/** As long as a channel remembers an incident: longer than any operation is watched. */
const INCIDENT_KEPT_MS = 40 * DAY_MS;

/** At most two notifiers and a few people write one incident, so this many lost races are a fault. */
const WRITE_TRIES_MAX = 20;

export interface IncidentStore {
  /** Resolves to undefined when there is no such incident, or its item cannot be read. */
  read(incidentId: string): Promise<IncidentRecord | undefined>;
  /** Resolves to the incidents that exist and can be read, in any order. */
  readMany(incidentIds: readonly string[]): Promise<readonly IncidentRecord[]>;
  /**
   * Writes what `change` returns for the record as it is now, and resolves to it. When another process was faster,
   * `change` is asked again. When it returns undefined, nothing is written, and the result is undefined. An item that
   * cannot be read is left as it is.
   */
  change(
    incidentId: string,
    change: (record: IncidentRecord | undefined) => IncidentRecord | undefined,
  ): Promise<IncidentRecord | undefined>;
}

export interface IncidentStorePorts {
  readonly clock: Clock;
  readonly noteUnreadable?: NoteUnreadable;
  /**
   * A process that changes the same incidents again and again keeps here what it wrote last, by incident, and saves the
   * read. A record that another process has changed since is refused by its revision, and read then.
   */
  readonly written?: Map<string, IncidentRecord>;
}

/** A process forgets what it wrote when it has written more incidents than this, at a few hundred bytes each. */
const WRITTEN_MAX = 2_000;

/** Every method rejects when the table does. After a write it is unknown then whether the write was made. */
export function createIncidentStore(
  table: Table,
  accountId: string,
  { clock, noteUnreadable = ignoreUnreadable, written }: IncidentStorePorts,
): IncidentStore {
  const find = async (incidentId: string): Promise<IncidentRecord | 'unreadable' | undefined> => {
    const item = await table.get(incidentKey(accountId, incidentId));
    return item === undefined ? undefined : (readableIncidents([item], noteUnreadable)[0] ?? 'unreadable');
  };
  return {
    async read(incidentId) {
      const found = await find(incidentId);
      return found === 'unreadable' ? undefined : found;
    },

    async readMany(incidentIds) {
      const keys = [...new Set(incidentIds)].map((id) => incidentKey(accountId, id));
      const items = keys.length === 0 ? [] : await table.getMany(keys);
      return readableIncidents(items, noteUnreadable);
    },

    async change(incidentId, change) {
      for (let attempt = 1; attempt <= WRITE_TRIES_MAX; attempt++) {
        const found = written?.get(incidentId) ?? (await find(incidentId));
        written?.delete(incidentId);
        if (found === 'unreadable') return undefined;
        const asked = change(found);
        if (asked === undefined || asked === found) return undefined;
        const next = { ...asked, revision: (found?.revision ?? 0) + 1 };
        if ((await table.update(updateOf(next, clock.now()))) !== 'applied') continue;
        if (written !== undefined && written.size >= WRITTEN_MAX) written.clear();
        written?.set(incidentId, next);
        return next;
      }
      throw new AppError(
        'incident_contended',
        `The record of an incident of ${accountId} changed ${WRITE_TRIES_MAX} times meanwhile`,
      );
    },
  };
}

/**
 * Reads the incidents of all accounts that people have acknowledged and that are open, and those whose acknowledgement
 * has changed within a day. The index can lag by a moment, so one that was acknowledged just now may be missing.
 */
export async function readAcknowledged(
  table: Table,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<readonly IncidentRecord[]> {
  const keys = await table.queryWork({ work: ACKNOWLEDGED_WORK });
  const items = keys.length === 0 ? [] : await table.getMany(keys);
  return readableIncidents(items, noteUnreadable);
}

/** Leaves out the items that cannot be read, and notes them. */
export function readableIncidents(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly IncidentRecord[] {
  return items.flatMap((item) => {
    const { data, error } = incidentRecord.safeParse(item);
    if (data !== undefined) return data;
    noteUnreadable({
      key: { pk: item.pk, sk: item.sk },
      fields: error.issues.map(({ path }) => path.join('.')),
    });
    return [];
  });
}

function updateOf(record: IncidentRecord, nowMs: number): Update {
  const { account_id, incident_id, began_at, ended_at = isoTimeOf(nowMs), revision } = record;
  const isStillOpen = isOpen(record);
  const holdsBack = isStillOpen && record.acknowledged !== undefined;
  const isIndexed = holdsBack || record.announce_until !== undefined;
  const list = incidentsListOf(account_id, isStillOpen ? 'open' : 'ended');
  const name = incidentNameOf(incidentPartsOf(record));
  const names = Object.keys(incidentRecord.shape) as (keyof IncidentRecord)[];
  return {
    key: incidentKey(account_id, incident_id),
    set: {
      kind: 'incident',
      ...(record as unknown as Record<string, Attribute | undefined>),
      // The name in the key says what fails in which project, without a read of the item.
      ...listed(list, `${isStillOpen ? began_at : ended_at} ${name}`),
      expires_at: Math.ceil((nowMs + INCIDENT_KEPT_MS) / 1_000),
      ...(isIndexed && { work: ACKNOWLEDGED_WORK }),
    },
    remove: [
      ...names.filter((field) => record[field] === undefined),
      ...(isIndexed ? [] : [WORK_INDEX.partitionKey]),
    ],
    condition:
      revision === 1
        ? { kind: 'absent', name: 'revision' }
        : { kind: 'equals', name: 'revision', value: revision - 1 },
  };
}
