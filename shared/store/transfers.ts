/**
 * Reads and writes what several accounts have of one project (PROTOCOL.md, "A project that moves"): the wish of the account that
 * lists it, the answer of the one that has it, and the records of operations, which go on in another account.
 */

import { isBehind } from '../records/journal-record.ts';
import { type OperationRecord, READING_GOOD_MS } from '../records/operation-record.ts';
import type { CameFrom, ProjectRecord } from '../records/project-record.ts';
import { DAY_MS, MINUTE_MS, type Timestamp } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { forEachConcurrently } from '../runtime/concurrency.ts';
import { accountKey, operationKey, projectKey } from './keys.ts';
import { originIn } from './parse-record.ts';
import {
  expiryAttributes,
  isMarkAlone,
  readableRecordsOf,
  recordUpdate,
  sameNumber,
  unchangedSince,
} from './records.ts';
import {
  type Condition,
  FEED_INDEX,
  type Item,
  type Key,
  KeysUnreadError,
  keyText,
  type Table,
} from './table.ts';
import type { NoteUnreadable } from './unreadable.ts';
import { createReadingWishes } from './wishes.ts';

/** What became of operations that have no record of their own in the account. One that nobody has recorded is in neither. */
export interface Adopted {
  /** These records are stored in the account by now. */
  readonly records: ReadonlyMap<string, OperationRecord>;
  /** Another process deals with these operations, or their records cannot be read. */
  readonly unsureIds: ReadonlySet<string>;
}

interface TransferPorts {
  readonly clock: Clock;
  readonly noteUnreadable: NoteUnreadable;
}

/** While an account waits, it asks for a reading this often. */
const WISHED_EVERY_MS = MINUTE_MS;

/** This many operations go on in the account at once. */
const ADOPTIONS_AT_ONCE = 8;

export function createTransfers(table: Table, accountId: string, ports: TransferPorts) {
  const { clock, noteUnreadable } = ports;
  return {
    /** Resolves to the records that these accounts have of the project, and to how many items the table was too busy to read. */
    async readElsewhere(projectId: string, accountIds: readonly string[]) {
      const keys = accountIds.map((id) => projectKey(id, projectId));
      const { items, unread } = await readAvailable(table, keys);
      return {
        records: readableRecordsOf('project', items, noteUnreadable),
        unreadCount: unread.length,
      };
    },

    /** Resolves to what the account of the record takes for the project's first sight, or to undefined when that cannot be read. */
    async readSince({ account_id, since }: ProjectRecord): Promise<Timestamp | undefined> {
      const item = since === undefined ? await table.get(accountKey(account_id)) : undefined;
      return since ?? (item && originIn(item)?.boot_at);
    },

    /** Asks the account of the record whether it still has the project. Nothing is written when its record has changed since. */
    async wantProject({ account_id, project_id, wanted_at_ms }: ProjectRecord): Promise<void> {
      await table.update({
        key: projectKey(account_id, project_id),
        set: { wanted_by: accountId, wanted_at_ms: clock.now() },
        remove: ['shared_at_ms'],
        condition: sameNumber('wanted_at_ms', wanted_at_ms),
      });
      await createReadingWishes(table, account_id, clock).wishForReading(project_id, WISHED_EVERY_MS);
    },

    /** Lets the account of the record read the project soon, so that it notices whether it still has it. */
    async wishForReadingBy({ account_id, project_id }: ProjectRecord): Promise<void> {
      await createReadingWishes(table, account_id, clock).wishForReading(project_id, WISHED_EVERY_MS);
    },

    /** Answers the wish of that time: this account has the project, too. */
    async answerWish(projectId: string, wantedAtMs: number): Promise<void> {
      await table.update({
        key: projectKey(accountId, projectId),
        set: { shared_at_ms: clock.now() },
        remove: ['wanted_at_ms'],
        condition: sameNumber('wanted_at_ms', wantedAtMs),
      });
    },

    /**
     * Says in the closed record of another account that this transfer takes the project from there. Resolves to false when that
     * record has changed since it was read.
     */
    async takeProject(from: ProjectRecord, number: number): Promise<boolean> {
      const { account_id, project_id, revision, moved_by } = from;
      const outcome = await table.update({
        key: projectKey(account_id, project_id),
        set: { moved_to: accountId, moved_by: number },
        condition: {
          kind: 'all',
          of: [unchangedSince(revision, 'project'), sameNumber('moved_by', moved_by)],
        },
      });
      return outcome === 'applied';
    },

    /** Lets operations go on in this account that it has no record of, or that had moved away from it. */
    async adoptOperations(
      projectId: string,
      cameFrom: CameFrom,
      operationIds: readonly string[],
    ): Promise<Adopted> {
      const accounts = [accountId, ...cameFrom.account_ids];
      const keys = operationIds.flatMap((id) => accounts.map((each) => operationKey(each, projectId, id)));
      const items = new Map((await table.getMany(keys)).map((item) => [keyText(item), item]));
      const records = new Map<string, OperationRecord>();
      const unsureIds = new Set<string>();
      await forEachConcurrently(operationIds, ADOPTIONS_AT_ONCE, async (id) => {
        const found = (each: string) => foundAt(items, operationKey(each, projectId, id), noteUnreadable);
        const adopted = await adopt({ table, accountId, ...ports }, cameFrom, found);
        if (adopted === 'unsure') unsureIds.add(id);
        else if (adopted !== undefined) records.set(id, adopted);
      });
      return { records, unsureIds };
    },
  };
}

async function readAvailable(
  table: Table,
  keys: readonly Key[],
): Promise<{ readonly items: readonly Item[]; readonly unread: readonly Key[] }> {
  try {
    return { items: await table.getMany(keys), unread: [] };
  } catch (error) {
    if (error instanceof KeysUnreadError) return error;
    throw error;
  }
}

/** What an account has of an operation. A mark alone, which has no state, is an item without a record. */
interface Found {
  readonly key: Key;
  readonly item: Item | undefined;
  readonly record: OperationRecord | undefined;
  /** The transfer with this number took the operation away. It is 0 when none did. */
  readonly movedBy: number;
  readonly isUnreadable: boolean;
}

function foundAt(items: ReadonlyMap<string, Item>, key: Key, noteUnreadable: NoteUnreadable): Found {
  const item = items.get(keyText(key));
  const [record] =
    item === undefined || isMarkAlone(item) ? [] : readableRecordsOf('operation', [item], noteUnreadable);
  const movedBy = Number(item?.['moved_by'] ?? 0);
  const isUnreadable = item !== undefined && record === undefined && !isMarkAlone(item);
  return { key, item, record, movedBy, isUnreadable };
}

interface AdoptDeps extends TransferPorts {
  readonly table: Table;
  readonly accountId: string;
}

/** Marks the operation in the accounts that had it, down to its last record, and goes on with that one here. */
async function adopt(
  deps: AdoptDeps,
  { account_ids, at_ms, number }: CameFrom,
  foundIn: (accountId: string) => Found,
): Promise<OperationRecord | undefined | 'unsure'> {
  const own = foundIn(deps.accountId);
  // A mark gives way only to a later transfer: this process may know an earlier one.
  if (own.isUnreadable || own.movedBy >= number) return 'unsure';
  if (own.record !== undefined && own.movedBy === 0) return own.record;
  let base: OperationRecord | undefined;
  for (const there of account_ids.map(foundIn)) {
    // A process of that account creates a record only from a reading that is good.
    const mayBeCreated = own.item !== undefined || deps.clock.now() - at_ms <= READING_GOOD_MS;
    if (there.item === undefined && !mayBeCreated) continue;
    if (there.isUnreadable || !(await mark(deps, there, number))) return 'unsure';
    base = there.record;
    if (base !== undefined) break;
  }
  base ??= own.record;
  if (base === undefined) return own.item === undefined ? undefined : 'unsure';
  return goOn(deps, base, own);
}

/** A mark alone is needed until readings of that time are no longer good. */
const MARK_KEPT_MS = DAY_MS;

/** From the mark on, no process of that account writes the operation. Resolves to false when another was faster. */
async function mark(
  { table, clock }: AdoptDeps,
  { key, item, record, movedBy }: Found,
  number: number,
): Promise<boolean> {
  if (movedBy >= number) return movedBy === number;
  const hasMore = record !== undefined && isBehind(record);
  const kept = hasMore ? {} : record && expiryAttributes(record, clock);
  const alone = { kind: 'operation', expires_at: Math.floor((clock.now() + MARK_KEPT_MS) / 1_000) };
  const revision = record === undefined ? [] : [unchangedSince(record.revision, 'operation')];
  const isSame: Condition = { kind: 'all', of: [...revision, sameNumber('moved_by', movedBy || undefined)] };
  const outcome = await table.update({
    key,
    set: { moved_by: number, ...(record === undefined ? alone : kept) },
    remove: hasMore ? [] : ['work'],
    condition: item === undefined ? { kind: 'absent', name: 'pk' } : isSame,
  });
  return outcome === 'applied';
}

/** What waits for the bus is published by the account that has recorded it, so the copy has nothing to publish. */
async function goOn(
  { table, accountId, clock }: AdoptDeps,
  base: OperationRecord,
  { item, movedBy }: Found,
): Promise<OperationRecord | 'unsure'> {
  const { derived: _derived, moved_by: _mark, foreign: _foreign, ...state } = base;
  const next = { ...state, account_id: accountId, entries: [], published: base.revision };
  const update = recordUpdate(next, undefined, clock);
  const outcome = await table.update({
    ...update,
    remove: [...(update.remove ?? []), 'moved_by', 'derived', 'entries', FEED_INDEX.sortKey],
    condition: item === undefined ? { kind: 'absent', name: 'pk' } : sameNumber('moved_by', movedBy),
  });
  return outcome === 'applied' ? next : 'unsure';
}
