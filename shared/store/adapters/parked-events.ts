/**
 * Keeps each event that the bus refused for good as an item of its own. A parked event has no `expires_at` and is
 * kept until a person has it sent again (a redrive), because only a person can decide that.
 */

import * as z from 'zod';

import type { JournalEntry } from '../../core/journal/journal-entries.ts';
import type { JournalRecord } from '../../core/records/journal-record.ts';
import { isoTimeOf } from '../../core/time/timestamp.ts';
import type { Clock } from '../../runtime/clock.ts';
import { keyOf } from '../items.ts';
import { parkedKey, parkedWorkOf } from '../keys.ts';
import type { IndexPosition, Key, Table } from '../table.ts';
import { expiresAtOf } from './retention.ts';

export interface RefusedEntry {
  readonly entry: JournalEntry;
  /** The bus refused the entry with this error code. */
  readonly code: string;
  /** The event was sent like this, as JSON. */
  readonly event: string;
}

/** The event as it was sent, which is sent again unchanged. */
interface ParkedEvent {
  readonly key: Key;
  readonly event: z.output<typeof storedEvent>;
}

/** The fields are those of `BusEvent`. */
const storedEvent = z.object({
  source: z.string(),
  detailType: z.string(),
  detail: z.string(),
  time: z.string(),
});

export interface ParkedPage {
  /** They come in any order, because the index knows none and the bus keeps none. */
  readonly events: readonly ParkedEvent[];
  readonly itemCount: number;
  /** It is undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

export function createParkedEvents(table: Table, accountId: string, clock: Clock) {
  return {
    async park(record: JournalRecord, { entry, code, event }: RefusedEntry): Promise<void> {
      await table.update({
        key: parkedKey(keyOf(record), entry.revision),
        set: {
          kind: 'parked',
          code,
          event,
          parked_at: isoTimeOf(clock.now()),
          work: parkedWorkOf(accountId),
        },
      });
    },

    /** An item whose event was sent again meanwhile is left out. */
    async findParked(limit: number, start: IndexPosition | undefined): Promise<ParkedPage> {
      const { keys, next } = await table.queryWorkPage({ work: parkedWorkOf(accountId), limit, start });
      const items = keys.length === 0 ? [] : await table.getMany(keys);
      const events = items.flatMap(({ pk, sk, event }) => {
        const parsed = storedEvent.safeParse(typeof event === 'string' ? JSON.parse(event) : undefined);
        return parsed.success ? [{ key: { pk, sk }, event: parsed.data }] : [];
      });
      return { events, itemCount: keys.length, next };
    },

    /** Notes that the bus has taken the event, and lets the item expire. */
    async endParked(key: Key): Promise<void> {
      await table.update({ key, set: { expires_at: expiresAtOf(clock) }, remove: ['work', 'event'] });
    },
  };
}
