/** The writes and reads of the protocol for one account, over any `Table`. */

import * as z from 'zod';
import type { AccountRecord } from '../core/records/account-record.ts';
import type { CommandRecord } from '../core/records/command-record.ts';
import { SETTLED_KEPT_MS } from '../core/records/history.ts';
import type { JournalEntry } from '../core/records/journal.ts';
import { acknowledged, hasWork, type JournalRecord } from '../core/records/journal-record.ts';
import type { OperationRecord } from '../core/records/operation-record.ts';
import type { ProjectRecord } from '../core/records/project-record.ts';
import type { Timestamp } from '../core/records/timestamp.ts';
import type { Progress } from '../core/records/walk-progress.ts';
import type { Clock } from '../runtime/clock.ts';
import { attributesOf, keyOf } from './items.ts';
import {
  accountKey,
  isCommandKey,
  leaseKey,
  operationIdOf,
  operationKey,
  parkedKey,
  parkedWorkOf,
  projectIdOf,
  projectKey,
  readRequestKey,
  readRequestsOf,
  workOf,
} from './keys.ts';
import {
  type AccountOrigin,
  originIn,
  type ParsedItem,
  type ParsedItems,
  parseRecordOf,
  parseRecords,
  parseRecordsOf,
} from './parse-record.ts';
import type { Condition, IndexPosition, Item, Key, Table, Update } from './table.ts';
import { ignoreUnreadable, type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

/**
 * Settled operations stay for this long. DynamoDB deletes them some time later; one that is still there is still true, so
 * nothing filters. What may have been deleted is not taken for news (`mayBeForgotten`).
 */
export const SETTLED_KEPT_SECONDS = SETTLED_KEPT_MS / 1_000;

/**
 * The state of the rate limit at the end of a lease: when the next request would leave if all left evenly, milliseconds
 * since the epoch. `whole`: of everything that is sent for the account. `own`: of the poller's own part.
 */
const leaseSpending = z.object({ whole_next_at_ms: z.number(), own_next_at_ms: z.number() });

export type LeaseSpending = z.infer<typeof leaseSpending>;

/** A project that is gone is kept for this long after everything else that is kept of it, and leaves all lists then. */
export const GONE_PROJECT_EXTRA_SECONDS = SETTLED_KEPT_SECONDS;

export type RecordResult = 'recorded' | 'conflict';

/** A place in the work index: of an operation, of a project, or (neither) of the account itself. */
export interface WorkPlace {
  readonly key: Key;
  readonly projectId: string | undefined;
  readonly operationId: string | undefined;
  /** Of a command whose operations have not all ended, or whose end is not published. */
  readonly isCommand: boolean;
}

export interface WorkPageRequest {
  readonly limit: number;
  /** Where the page before ended; undefined: at the beginning. */
  readonly start?: IndexPosition | undefined;
  /** Undefined: of the whole account. */
  readonly projectId?: string | undefined;
}

export interface WorkPlacePage {
  readonly places: readonly WorkPlace[];
  /** Undefined: there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

export interface OperationsRead {
  /** By id. */
  readonly records: Map<string, OperationRecord>;
  /** Items that are there and cannot be read: not the same as operations that nobody has recorded. */
  readonly unreadableIds: ReadonlySet<string>;
}

export type BridgeStore = ReturnType<typeof createBridgeStore>;

/**
 * A read of one item rejects with `UnreadableItemError` when the item cannot be read; a read of many leaves it out. Both
 * note it, and nothing ever writes to it.
 */
export function createBridgeStore(
  table: Table,
  accountId: string,
  clock: Clock,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
) {
  const one = <R extends JournalRecord>({ record, unreadable }: ParsedItem<R>): R => {
    if (unreadable !== undefined) noteUnreadable(unreadable);
    if (record !== undefined) return record;
    throw new UnreadableItemError(unreadable ?? { key: { pk: '', sk: '' }, fields: [] });
  };
  const many = <R extends JournalRecord>({ records, unreadable }: ParsedItems<R>): readonly R[] => {
    for (const item of unreadable) noteUnreadable(item);
    return records;
  };
  const expiresAt = () => Math.floor(clock.now() / 1_000) + SETTLED_KEPT_SECONDS;

  return {
    accountId,

    async readAccount(): Promise<AccountRecord | undefined> {
      const item = await table.get(accountKey(accountId));
      return item && one(parseRecordOf('account', item));
    },

    /**
     * What decides what is history, also of an account whose item cannot be read as a whole. `unreadable`: that cannot be
     * read either.
     */
    async readOrigin(): Promise<AccountOrigin | 'unreadable' | undefined> {
      const item = await table.get(accountKey(accountId));
      if (item === undefined) return undefined;
      many(parseRecordsOf('account', [item]));
      return originIn(item) ?? 'unreadable';
    },

    async readProject(projectId: string): Promise<ProjectRecord | undefined> {
      const item = await table.get(projectKey(accountId, projectId));
      return item && one(parseRecordOf('project', item));
    },

    async readOperation(projectId: string, operationId: string): Promise<OperationRecord | undefined> {
      const item = await table.get(operationKey(accountId, projectId, operationId));
      return item && one(parseRecordOf('operation', item));
    },

    async readOperations(projectId: string, operationIds: readonly string[]): Promise<OperationsRead> {
      const keys = operationIds.map((id) => operationKey(accountId, projectId, id));
      const items = await table.getMany(keys);
      const read = many(parseRecordsOf('operation', items));
      const records = new Map(read.map((record) => [record.operation_id, record]));
      const found = items.flatMap((item: Item) => operationIdOf(item) ?? []);
      return { records, unreadableIds: new Set(found.filter((id) => !records.has(id))) };
    },

    async readCommands(keys: readonly Key[]): Promise<readonly CommandRecord[]> {
      if (keys.length === 0) return [];
      return many(parseRecordsOf('command', await table.getMany(keys)));
    },

    async readRecords(keys: readonly Key[]): Promise<readonly JournalRecord[]> {
      return many(parseRecords(await table.getMany(keys)));
    },

    /** What a crash left unpublished and what is still open; the index may lag, so read the items themselves. */
    async findWork(projectId?: string): Promise<readonly WorkPlace[]> {
      const pk = projectId === undefined ? {} : { pk: projectKey(accountId, projectId).pk };
      return (await table.queryWork({ work: workOf(accountId), ...pk })).map(placeOf);
    },

    /** At most `limit` of the same, for whatever may be large: an outage of the bus leaves everything there. */
    async findWorkPage({ limit, start, projectId }: WorkPageRequest): Promise<WorkPlacePage> {
      const pk = projectId === undefined ? {} : { pk: projectKey(accountId, projectId).pk };
      const page = await table.queryWorkPage({ work: workOf(accountId), limit, start, ...pk });
      return { places: page.keys.map(placeOf), next: page.next };
    },

    /** State, event and its discoverability in one write. `expectedRevision` undefined: the item is new. */
    async record(next: JournalRecord, expectedRevision: number | undefined): Promise<RecordResult> {
      return toResult(await table.update(recordUpdate(next, expectedRevision, expiresAt())));
    },

    /**
     * Everything up to `through` has reached the bus. When a newer entry was recorded meanwhile, only `published`
     * is raised: the entry and its place in the index belong to that newer record.
     */
    async acknowledge(record: JournalRecord, through: number): Promise<void> {
      const result = await table.update(acknowledgeUpdate(record, through, expiresAt()));
      if (result === 'applied') return;
      await table.update(raisePublishedUpdate(record, through));
    },

    /** Sets one refused entry aside as an item of its own; sending it again is a person's decision. */
    async park(
      record: JournalRecord,
      parked: { entry: JournalEntry; code: string; event: string },
    ): Promise<void> {
      await table.update({
        key: parkedKey(keyOf(record), parked.entry.revision),
        set: {
          kind: 'parked',
          code: parked.code,
          event: parked.event,
          parked_at: new Date(clock.now()).toISOString(),
          work: parkedWorkOf(accountId),
        },
      });
    },

    /**
     * How far the project is read, in one write. `conflict`: the watermark is there already, or further, and nothing was
     * written.
     */
    async saveProgress(projectId: string, progress: Progress): Promise<RecordResult> {
      return toResult(await table.update(progressUpdate(accountId, projectId, progress)));
    },

    /** Asks the poller to read the project at once; asking twice is asking once. */
    /** One wish in `intervalMs`: until then the one before it stands, or was granted just now. */
    async requestRead(projectId: string, intervalMs: number): Promise<void> {
      const nowMs = clock.now();
      const work = readRequestsOf(accountId);
      await table.update({
        key: readRequestKey(accountId, projectId),
        set: { kind: 'read_request', work, asked_at_ms: nowMs, expires_at: expiresAt() },
        condition: {
          kind: 'any',
          of: [
            { kind: 'absent', name: 'asked_at_ms' },
            { kind: 'less', name: 'asked_at_ms', value: nowMs - intervalMs + 1 },
          ],
        },
      });
    },

    /** The projects that were asked for since the last time. */
    async takeReadRequests(): Promise<readonly string[]> {
      const keys = await table.queryWork({ work: readRequestsOf(accountId) });
      await Promise.all(keys.map((key) => table.update({ key, set: {}, remove: ['work'] })));
      return keys.map(({ sk }) => sk);
    },

    /**
     * A lease saves requests when two invocations overlap; nothing relies on it (conditions are on the items). One whose end
     * cannot be read would never end: it is taken over, the one kind of item that is not kept.
     */
    async acquireLease(holder: string, durationMs: number): Promise<boolean> {
      const nowMs = clock.now();
      const key = leaseKey(accountId);
      const set = { kind: 'lease', holder, expires_at_ms: nowMs + durationMs };
      const result = await table.update({
        key,
        set,
        remove: ['spending'],
        condition: {
          kind: 'any',
          of: [
            { kind: 'absent', name: 'expires_at_ms' },
            { kind: 'less', name: 'expires_at_ms', value: nowMs },
            { kind: 'equals', name: 'holder', value: holder },
          ],
        },
      });
      if (result === 'applied') return true;
      const endsAtMs = (await table.get(key))?.['expires_at_ms'];
      if (endsAtMs === undefined || typeof endsAtMs === 'number') return false;
      noteUnreadable({ key, fields: ['expires_at_ms'] });
      await table.update({ key, set });
      return true;
    },

    /** Ends the lease at once, and hands over what its holder has spent. */
    async releaseLease(holder: string, spending?: LeaseSpending): Promise<void> {
      await table.update({
        key: leaseKey(accountId),
        set: { expires_at_ms: 0, ...(spending && { spending: { ...spending } }) },
        condition: { kind: 'equals', name: 'holder', value: holder },
      });
    },

    /** What the last holder has handed over; undefined: it has not ended, or not in order. */
    async readLease(): Promise<{ readonly spending: LeaseSpending | undefined } | undefined> {
      const item = await table.get(leaseKey(accountId));
      return item && { spending: leaseSpending.safeParse(item['spending']).data };
    },
  };

  function placeOf(key: Key): WorkPlace {
    return {
      key,
      projectId: projectIdOf(key, accountId),
      operationId: operationIdOf(key),
      isCommand: isCommandKey(key),
    };
  }
}

/** A watermark only ever moves forwards. */
function progressUpdate(accountId: string, projectId: string, progress: Progress): Update {
  const { watermark, resume, sweep, sweptAtMs, sweepCount, arrivals, listEnd, isUnordered } = progress;
  const removed = { resume, sweep, is_unordered: isUnordered };
  return {
    key: projectKey(accountId, projectId),
    set: {
      kind: 'project',
      account_id: accountId,
      project_id: projectId,
      watermark,
      swept_at_ms: sweptAtMs,
      sweep_count: sweepCount,
      list_end: listEnd,
      ...(isUnordered && { is_unordered: true }),
      ...(resume && { resume: { ...resume } }),
      ...(sweep && { sweep: { ...sweep } }),
      ...(arrivals && { arrivals: { ...arrivals } }),
    },
    remove: (['resume', 'sweep', 'is_unordered'] as const).filter((name) => removed[name] === null),
    ...(watermark !== undefined && { condition: isNewerThanStored(watermark) }),
  };
}

function isNewerThanStored(watermark: Timestamp): Condition {
  const isAbsent: Condition = { kind: 'absent', name: 'watermark' };
  return { kind: 'any', of: [isAbsent, { kind: 'less', name: 'watermark', value: watermark }] };
}

function recordUpdate(next: JournalRecord, expectedRevision: number | undefined, expiresAt: number): Update {
  const work = hasWork(next);
  const keeps = work ? { work: workOf(next.account_id) } : settledAttributes(next, expiresAt);
  const remove = work ? ['expires_at'] : ['work'];
  return {
    key: keyOf(next),
    set: { ...attributesOf(next), ...keeps },
    remove:
      next.kind === 'account' && next.degraded_reason === undefined ? [...remove, 'degraded_reason'] : remove,
    condition: unchangedSince(expectedRevision, next.kind),
  };
}

/**
 * A project's item can exist before its first journal entry, because the watermark is written by itself. Any other item
 * that is there, however damaged, is not new.
 */
function unchangedSince(revisionRead: number | undefined, kind: JournalRecord['kind']): Condition {
  const neverJournalled: Condition = { kind: 'absent', name: 'revision' };
  if (revisionRead === undefined)
    return kind === 'project' ? neverJournalled : { kind: 'absent', name: 'pk' };
  const unchanged: Condition = { kind: 'equals', name: 'revision', value: revisionRead };
  return revisionRead === 0 ? { kind: 'any', of: [neverJournalled, unchanged] } : unchanged;
}

function acknowledgeUpdate(record: JournalRecord, through: number, expiresAt: number): Update {
  const after = acknowledged(record, through);
  const noNewerEntry: Condition = { kind: 'equals', name: 'revision', value: record.revision };
  // A slower relay that got only part of the entries through must not take a whole acknowledgement back.
  const goesForward: Condition = { kind: 'less', name: 'published', value: through };
  const condition: Condition = { kind: 'all', of: [noNewerEntry, goesForward] };
  const set = { published: after.published };
  if (hasWork(after)) return { key: keyOf(record), set, condition };
  return {
    key: keyOf(record),
    set: { ...set, ...settledAttributes(after, expiresAt) },
    remove: ['work'],
    condition,
  };
}

function raisePublishedUpdate(record: JournalRecord, through: number): Update {
  return {
    key: keyOf(record),
    set: { published: through },
    condition: { kind: 'less', name: 'published', value: through },
  };
}

function settledAttributes(record: JournalRecord, expiresAt: number): Update['set'] {
  if (record.kind === 'operation' || record.kind === 'command') return { expires_at: expiresAt };
  const isGone = record.kind === 'project' && !record.is_visible;
  return isGone ? { expires_at: expiresAt + GONE_PROJECT_EXTRA_SECONDS } : {};
}

function toResult(outcome: 'applied' | 'refused'): RecordResult {
  return outcome === 'applied' ? 'recorded' : 'conflict';
}
