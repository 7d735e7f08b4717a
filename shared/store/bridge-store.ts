/**
 * Joins the adapters of one account, for entries that build dependencies, and makes the writes of the protocol: they record what
 * changed together with its event, and acknowledge what is published. Use cases ask for the ports that they use.
 */

import * as z from 'zod';
import type { JournalEntry } from '../records/journal-entries.ts';
import { type Acknowledged, acknowledged, hasWork, type JournalRecord } from '../records/journal-record.ts';
import { isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { keyOf } from './items.ts';
import { parkedKey, parkedWorkOf } from './keys.ts';
import { createLeases } from './leases.ts';
import { createProjectRecords } from './project-records.ts';
import { recordUpdate } from './record-update.ts';
import {
  createAccountRecords,
  createCommandRecords,
  createDerivedRecords,
  createOperationRecords,
  type RecordResult,
  resultOf,
} from './records.ts';
import { expiresAtOf, expiryAttributes } from './retention.ts';
import type { Condition, IndexPosition, Key, Table, Update } from './table.ts';
import { createTransfers } from './transfers.ts';
import { ignoreUnreadable, type NoteUnreadable } from './unreadable.ts';
import { createReadingWishes, createRepairs, createReplays } from './wishes.ts';
import { createWorkIndex } from './work-index.ts';

export type BridgeStore = ReturnType<typeof createBridgeStore>;

/** `noteUnreadable` is called for every item that cannot be read, wholly or in part. */
export function createBridgeStore(
  table: Table,
  accountId: string,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
) {
  return {
    accountId,
    ...createAccountRecords(table, accountId, noteUnreadable),
    ...createProjectRecords(table, accountId, noteUnreadable),
    ...createOperationRecords(table, accountId, noteUnreadable),
    ...createCommandRecords(table, noteUnreadable),
    ...createDerivedRecords(table, noteUnreadable),
    ...createJournalWrites(table, clock),
    ...createParkedEvents(table, accountId, clock),
    ...createWorkIndex(table, accountId, noteUnreadable),
    ...createReadingWishes(table, accountId, clock),
    ...createRepairs(table, accountId, { clock, noteUnreadable }),
    ...createReplays(table, accountId, { clock, noteUnreadable }),
    ...createLeases(table, accountId, { clock, noteUnreadable }),
    ...createTransfers(table, accountId, { clock, noteUnreadable }),
  };
}

function createJournalWrites(table: Table, clock: Clock) {
  return {
    /**
     * Writes state, event and the entry in the work index at once, if the stored revision is still
     * `expectedRevision`. When that is undefined, it writes if there is no such record yet. Rejects when the outcome
     * is unknown.
     */
    async record(next: JournalRecord, expectedRevision: number | undefined): Promise<RecordResult> {
      return resultOf(await table.update(recordUpdate(next, expectedRevision, clock)));
    },

    /**
     * Notes that the bus has taken every entry up to revision `through`, and how far what derives from them is published.
     * When a newer entry was recorded meanwhile, only the two counters move: the entry and its key in the index belong to
     * that newer revision.
     */
    async acknowledge(record: JournalRecord, counted: Acknowledged): Promise<void> {
      const after = acknowledged(record, counted);
      const [whole, counters] = acknowledgeUpdates(record, after, clock);
      if ((await table.update(whole)) === 'applied') return;
      if (after.published > record.published) await table.update(counters);
    },
  };
}

/** Returns the whole acknowledgement, and the one that moves nothing but the counters. */
function acknowledgeUpdates(
  record: JournalRecord,
  after: JournalRecord,
  clock: Clock,
): readonly [Update, Update] {
  const { published } = after;
  const derived = after.kind === 'operation' ? after.derived : undefined;
  const counters = { set: { published, derived }, remove: derived === undefined ? ['derived'] : [] };
  // A slower relay that got only some of the entries through must not take a whole acknowledgement back.
  const isAhead: Condition = { kind: 'less', name: 'published', value: published };
  const isSame: Condition = { kind: 'equals', name: 'revision', value: record.revision };
  const goesForward = published > record.published ? [isAhead] : [];
  const key = keyOf(record);
  const condition: Condition = { kind: 'all', of: [isSame, ...goesForward] };
  const ended = hasWork(after)
    ? counters
    : {
        set: { ...counters.set, ...expiryAttributes(after, clock) },
        remove: [...counters.remove, 'work'],
      };
  return [
    { key, ...ended, condition },
    { key, ...counters, condition: isAhead },
  ];
}

interface RefusedEntry {
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

interface ParkedPage {
  /** They come in any order, because the index knows none and the bus keeps none. */
  readonly events: readonly ParkedEvent[];
  readonly itemCount: number;
  /** It is undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

function createParkedEvents(table: Table, accountId: string, clock: Clock) {
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
