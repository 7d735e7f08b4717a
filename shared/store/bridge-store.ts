/**
 * Joins the adapters of one account, for the files that build dependencies, and makes the writes of the protocol: they
 * record what changed together with its event, and acknowledge what is published. The work index finds what is left to
 * do, and the lease says which process does it.
 */

import * as z from 'zod';
import type { JournalEntry } from '../records/journal-entries.ts';
import { type Acknowledged, acknowledged, hasWork, type JournalRecord } from '../records/journal-record.ts';
import { isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { parseJson } from '../runtime/foreign-text.ts';
import { keyOf } from './items.ts';
import {
  isCommandKey,
  leaseKey,
  operationIdOf,
  parkedKey,
  parkedWorkOf,
  projectIdOf,
  projectKey,
  workOf,
} from './keys.ts';
import {
  createAccountRecords,
  createCommandRecords,
  createDerivedRecords,
  createOperationRecords,
  createProjectRecords,
  expiresAtOf,
  expiryAttributes,
  type RecordResult,
  readableRecords,
  recordUpdate,
  resultOf,
} from './records.ts';
import type { Condition, IndexPosition, Key, Table, Update } from './table.ts';
import { createTransfers } from './transfers.ts';
import { ignoreUnreadable, type NoteUnreadable } from './unreadable.ts';
import { createReadingWishes, createRepairs, createReplays } from './wishes.ts';

const leaseSpending = z.object({ next_at_ms: z.number(), ended_at_ms: z.number().optional() });

/**
 * Says what a process had spent when it ended. Both times are in milliseconds since the epoch by the clock of that process,
 * which may differ from the next one's. `next_at_ms`: the next request would leave at this time if all left evenly.
 * `ended_at_ms`: the process ended at this time; an earlier version has not handed it over.
 */
export type LeaseSpending = z.infer<typeof leaseSpending>;

export interface StoreAdapterDeps {
  readonly clock: Clock;
  readonly noteUnreadable: NoteUnreadable;
}

/**
 * Records are safe without a lease, because every write has its own condition. It keeps two pollers from sending at
 * once.
 */
function createLeases(table: Table, accountId: string, { clock, noteUnreadable }: StoreAdapterDeps) {
  const key = leaseKey(accountId);

  return {
    /**
     * Resolves to `false` while another holder's lease has not ended. The same holder may acquire it again, which
     * prolongs it.
     */
    async acquireLease(holder: string, durationMs: number): Promise<boolean> {
      const nowMs = clock.now();
      const lease = { kind: 'lease', holder, expires_at_ms: nowMs + durationMs };
      const result = await table.update({
        key,
        set: lease,
        remove: ['spending'],
        condition: isFreeFor(holder, nowMs),
      });
      if (result === 'applied') return true;
      if (!(await hasUnreadableEnd(table, key))) return false;
      noteUnreadable({ key, fields: ['expires_at_ms'] });
      await table.update({ key, set: lease });
      return true;
    },

    /** Ends the lease at once, and stores what its holder has spent for the next one. */
    async releaseLease(holder: string, spending?: LeaseSpending): Promise<void> {
      await table.update({
        key,
        set: { expires_at_ms: 0, ...(spending && { spending: { ...spending } }) },
        condition: { kind: 'equals', name: 'holder', value: holder },
      });
    },

    /**
     * Resolves to undefined when there is no lease item. `spending` is undefined when the last holder did not release
     * its lease.
     */
    async readLease(): Promise<{ readonly spending: LeaseSpending | undefined } | undefined> {
      const item = await table.get(key);
      return item && { spending: leaseSpending.safeParse(item['spending']).data };
    },
  };
}

/**
 * A lease whose end cannot be read would never end, so it is taken over. It is the only kind of item that is
 * overwritten although it cannot be read.
 */
async function hasUnreadableEnd(table: Table, key: Key): Promise<boolean> {
  const endsAtMs = (await table.get(key))?.['expires_at_ms'];
  return endsAtMs !== undefined && typeof endsAtMs !== 'number';
}

function isFreeFor(holder: string, nowMs: number): Condition {
  return {
    kind: 'any',
    of: [
      { kind: 'absent', name: 'expires_at_ms' },
      { kind: 'less', name: 'expires_at_ms', value: nowMs },
      { kind: 'equals', name: 'holder', value: holder },
    ],
  };
}

/**
 * An entry of the work index names an operation, a command or a project. When it names none of these, it is the
 * account's own.
 */
export interface WorkIndexEntry {
  readonly key: Key;
  readonly projectId: string | undefined;
  readonly operationId: string | undefined;
  /** It is true for a command whose operations have not all ended, or whose end is not published. */
  readonly isCommand: boolean;
}

export interface WorkPageRequest {
  readonly limit: number;
  /** The previous page ended here. It is undefined for the first page. */
  readonly start?: IndexPosition | undefined;
  /** It is undefined for the whole account. */
  readonly projectId?: string | undefined;
}

export interface WorkIndexPage {
  readonly entries: readonly WorkIndexEntry[];
  /** It is undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

export function createWorkIndex(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  const work = workOf(accountId);
  const partitionOf = (projectId: string | undefined) =>
    projectId === undefined ? {} : { pk: projectKey(accountId, projectId).pk };
  const entryOf = (key: Key): WorkIndexEntry => ({
    key,
    projectId: projectIdOf(key, accountId),
    operationId: operationIdOf(key),
    isCommand: isCommandKey(key),
  });

  return {
    /**
     * Resolves to everything that is open or that a crash left unpublished. The index can lag, so the items
     * themselves decide.
     */
    async findWork(projectId?: string): Promise<readonly WorkIndexEntry[]> {
      return (await table.queryWork({ work, ...partitionOf(projectId) })).map(entryOf);
    },

    /**
     * Resolves to at most `limit` of the same entries. An outage of the bus leaves everything in the index, so it may
     * be large.
     */
    async findWorkPage({ limit, start, projectId }: WorkPageRequest): Promise<WorkIndexPage> {
      const page = await table.queryWorkPage({ work, limit, start, ...partitionOf(projectId) });
      return { entries: page.keys.map(entryOf), next: page.next };
    },

    /** Resolves to the records in any order, without those that are missing or cannot be read. */
    async readRecords(keys: readonly Key[]): Promise<readonly JournalRecord[]> {
      return readableRecords(await table.getMany(keys), noteUnreadable);
    },
  };
}

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
    ...createParkedEvents(table, accountId, { clock, noteUnreadable }),
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

function createParkedEvents(table: Table, accountId: string, { clock, noteUnreadable }: StoreAdapterDeps) {
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

    /** An item whose event was sent again meanwhile, or cannot be read, is left out. */
    async findParked(limit: number, start: IndexPosition | undefined): Promise<ParkedPage> {
      const { keys, next } = await table.queryWorkPage({ work: parkedWorkOf(accountId), limit, start });
      const items = keys.length === 0 ? [] : await table.getMany(keys);
      const events = items.flatMap(({ pk, sk, event }) => {
        if (event === undefined) return [];
        const parsed = storedEvent.safeParse(typeof event === 'string' ? parseJson(event) : undefined);
        if (!parsed.success) noteUnreadable({ key: { pk, sk }, fields: ['event'] });
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
