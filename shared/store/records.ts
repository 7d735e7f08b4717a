/**
 * Reads and writes the records of accounts, projects, operations, branches, computes and commands, and says when a
 * record expires. Items that cannot be read are noted, and no code ever writes to such an item.
 */

import type { AccountRecord } from '../records/account-record.ts';
import type { CommandRecord } from '../records/command-record.ts';
import { type DerivedRecord, hasWork, type JournalRecord } from '../records/journal-record.ts';
import type { OperationRecord } from '../records/operation-record.ts';
import { type Progress, type ProjectRecord, RETENTION_MS } from '../records/project-record.ts';
import type { Timestamp } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { attributesOf, keyOf, LOWERED } from './items.ts';
import { accountKey, operationIdOf, operationKey, projectIdOf, projectKey, workOf } from './keys.ts';
import {
  type AccountOrigin,
  originIn,
  type ParsedItem,
  type ParsedItems,
  parseRecordOf,
  parseRecords,
  parseRecordsOf,
  type RecordOf,
} from './parse-record.ts';
import type { Condition, Item, Key, Table, Update } from './table.ts';
import { isUnreadable, type NoteUnreadable, UnreadableItemError } from './unreadable.ts';

const DAY_SECONDS = 86_400;

/**
 * An operation is kept for this long after its last acknowledgement. An item that DynamoDB has not deleted yet is still
 * true, so no reader filters by `expires_at`.
 */
const RETENTION_SECONDS = RETENTION_MS / 1_000;

/** Commands, replays, repairs and wishes are kept for this long after their last write. Nobody asks for an older one. */
const REQUESTS_KEPT_SECONDS = 45 * DAY_SECONDS;

/**
 * A branch, a compute and a project that is gone are kept for this long, which is longer than any operation of theirs.
 * A branch must not become ready a second time when it is restored, and a compute can run for months until its state
 * changes.
 */
export const DERIVED_KEPT_SECONDS = 400 * DAY_SECONDS;

/** Returns the value of `expires_at` for a request that is written now, in seconds since the epoch. */
export function expiresAtOf(clock: Clock): number {
  return nowSeconds(clock) + REQUESTS_KEPT_SECONDS;
}

/**
 * Returns the attributes that let a record expire, for one of which nothing is left to read or publish. Accounts and
 * visible projects are kept for ever.
 */
export function expiryAttributes(record: JournalRecord, clock: Clock): Update['set'] {
  const now = nowSeconds(clock);
  if (record.kind === 'operation')
    return { expires_at: Math.max(now, createdSeconds(record.created_at)) + RETENTION_SECONDS };
  if (record.kind === 'command') return { expires_at: expiresAtOf(clock) };
  const isGone = record.kind === 'project' && !record.is_visible;
  return isDerived(record) || isGone ? { expires_at: now + DERIVED_KEPT_SECONDS } : {};
}

/** The upstream shows a row from the future for longer than others, and it must not outlive its record. */
function createdSeconds(createdAt: string): number {
  return Math.floor(Date.parse(createdAt) / 1_000) || 0;
}

function nowSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1_000);
}

export function recordUpdate(
  next: JournalRecord,
  expectedRevision: number | undefined,
  clock: Clock,
): Update {
  const work = hasWork(next);
  const keeps = work ? { work: workOf(next.account_id) } : expiryAttributes(next, clock);
  const remove = work ? ['expires_at'] : ['work'];
  return {
    key: keyOf(next),
    set: { ...attributesOf(next), ...keeps },
    remove: [...remove, ...endedOf(next)],
    condition: conditionOf(next, unchangedSince(expectedRevision, next.kind)),
  };
}

/**
 * A project's item can exist before its first journal entry, because its bound is written separately. Any other item
 * that exists, however damaged, is not new.
 */
export function unchangedSince(revisionRead: number | undefined, kind: JournalRecord['kind']): Condition {
  const neverJournalled: Condition = { kind: 'absent', name: 'revision' };
  if (revisionRead === undefined)
    return kind === 'project' ? neverJournalled : { kind: 'absent', name: 'pk' };
  const unchanged: Condition = { kind: 'equals', name: 'revision', value: revisionRead };
  return revisionRead === 0 ? { kind: 'any', of: [neverJournalled, unchanged] } : unchanged;
}

/** Names what the record no longer has, of what not every write of it sets. */
function endedOf(next: JournalRecord): readonly string[] {
  if (next.kind === 'account' && next.degraded_reason === undefined) return ['degraded_reason'];
  return next.kind === 'project' && next.moved_to === undefined ? ['moved_to'] : [];
}

/**
 * An operation that went on in another account is not written any more. A project is written only beside the transfer that was
 * read, and closed only beside the wish that was read, so that none is passed over which came meanwhile.
 */
function conditionOf(next: JournalRecord, unchanged: Condition): Condition {
  if (next.kind === 'operation')
    return { kind: 'all', of: [unchanged, { kind: 'absent', name: 'moved_by' }] };
  if (next.kind !== 'project') return unchanged;
  const wish = next.is_visible ? [] : [sameNumber('wanted_at_ms', next.wanted_at_ms)];
  return { kind: 'all', of: [unchanged, sameNumber('moved_by', next.moved_by), ...wish] };
}

/** The item has this number, or none. */
export function sameNumber(name: string, value: number | undefined): Condition {
  return value === undefined ? { kind: 'absent', name } : { kind: 'equals', name, value };
}

/** `conflict` says that the item has changed since it was read, and nothing was written. */
export type RecordResult = 'recorded' | 'conflict';

export function resultOf(outcome: 'applied' | 'refused'): RecordResult {
  return outcome === 'applied' ? 'recorded' : 'conflict';
}

/** Reads one item. Throws `UnreadableItemError` when the item as a whole cannot be read. */
export function readableRecord<K extends JournalRecord['kind']>(
  kind: K,
  item: Item,
  noteUnreadable: NoteUnreadable,
): RecordOf<K> {
  const { record, unreadable }: ParsedItem<RecordOf<K>> = parseRecordOf(kind, item);
  if (unreadable !== undefined) noteUnreadable(unreadable);
  if (record !== undefined) return record;
  throw new UnreadableItemError(unreadable ?? { key: { pk: '', sk: '' }, fields: [] });
}

/** Reads many items of one kind. It leaves out those that cannot be read. */
export function readableRecordsOf<K extends JournalRecord['kind']>(
  kind: K,
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly RecordOf<K>[] {
  return noted(parseRecordsOf(kind, items), noteUnreadable);
}

/** Reads many items of any kind. It leaves out those that cannot be read. */
export function readableRecords(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly JournalRecord[] {
  return noted(parseRecords(items), noteUnreadable);
}

function noted<R extends JournalRecord>(
  { records, unreadable }: ParsedItems<R>,
  noteUnreadable: NoteUnreadable,
): readonly R[] {
  for (const item of unreadable) noteUnreadable(item);
  return records;
}

export function createAccountRecords(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    /**
     * Resolves to undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be
     * read.
     */
    async readAccount(): Promise<AccountRecord | undefined> {
      const item = await table.get(accountKey(accountId));
      return item && readableRecord('account', item, noteUnreadable);
    },

    /**
     * Reads the fields that decide what is history, even when the rest of the item cannot be read. Resolves to
     * `unreadable` when these fields themselves cannot be read, and to undefined when there is no such item.
     */
    async readOrigin(): Promise<AccountOrigin | 'unreadable' | undefined> {
      const item = await table.get(accountKey(accountId));
      if (item === undefined) return undefined;
      // This call only notes what cannot be read.
      readableRecordsOf('account', [item], noteUnreadable);
      return originIn(item) ?? 'unreadable';
    },

    /** Notes that all projects were listed once. An acknowledgement or an entry that is written meanwhile stays. */
    async noteListed(): Promise<'applied' | 'refused'> {
      const isThere: Condition = { kind: 'equals', name: 'kind', value: 'account' };
      return table.update({ key: accountKey(accountId), set: { is_listed: true }, condition: isThere });
    },
  };
}

export function createCommandRecords(table: Table, noteUnreadable: NoteUnreadable) {
  return {
    /** Resolves to the records in any order, without those that are missing or cannot be read. */
    async readCommands(keys: readonly Key[]): Promise<readonly CommandRecord[]> {
      if (keys.length === 0) return [];
      return readableRecordsOf('command', await table.getMany(keys), noteUnreadable);
    },
  };
}

export interface DerivedRead {
  /** The records that can be read, in any order. */
  readonly records: readonly DerivedRecord[];
  /** Items with these keys exist and cannot be read. A key without an item is in neither of the two. */
  readonly unreadable: readonly Key[];
}

export function createDerivedRecords(table: Table, noteUnreadable: NoteUnreadable) {
  return {
    async readDerived(keys: readonly Key[]): Promise<DerivedRead> {
      if (keys.length === 0) return { records: [], unreadable: [] };
      const unreadable: Key[] = [];
      const records = readableRecords(await table.getMany(keys), (item) => {
        noteUnreadable(item);
        unreadable.push(item.key);
      });
      return { records: records.filter(isDerived), unreadable };
    },
  };
}

function isDerived(record: { readonly kind: string }): record is DerivedRecord {
  return record.kind === 'branch' || record.kind === 'compute';
}

export interface OperationsRead {
  /** The records that can be read are here by id. */
  readonly records: Map<string, OperationRecord>;
  /** The items of these operations exist and cannot be read. An operation without an item is in neither of the two. */
  readonly unreadableIds: ReadonlySet<string>;
}

/** Says whether the item only keeps its account from recording an operation that another account has (`transfers.ts`). */
export function isMarkAlone({ moved_by, revision }: Item): boolean {
  return moved_by !== undefined && revision === undefined;
}

export function createOperationRecords(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    /**
     * Resolves to undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be
     * read.
     */
    async readOperation(projectId: string, operationId: string): Promise<OperationRecord | undefined> {
      const item = await table.get(operationKey(accountId, projectId, operationId));
      if (item === undefined || isMarkAlone(item)) return undefined;
      return readableRecord('operation', item, noteUnreadable);
    },

    async readOperations(projectId: string, operationIds: readonly string[]): Promise<OperationsRead> {
      const keys = operationIds.map((id) => operationKey(accountId, projectId, id));
      const items = (await table.getMany(keys)).filter((item) => !isMarkAlone(item));
      const read = readableRecordsOf('operation', items, noteUnreadable);
      const records = new Map(read.map((record) => [record.operation_id, record]));
      const found = items.flatMap((item) => operationIdOf(item) ?? []);
      return { records, unreadableIds: new Set(found.filter((id) => !records.has(id))) };
    },
  };
}

export function createProjectRecords(table: Table, accountId: string, noteUnreadable: NoteUnreadable) {
  return {
    /**
     * Resolves to undefined when there is no such item. Rejects with `UnreadableItemError` when the item cannot be
     * read.
     */
    async readProject(projectId: string): Promise<ProjectRecord | undefined> {
      const item = await table.get(projectKey(accountId, projectId));
      return item && readableRecord('project', item, noteUnreadable);
    },

    /** Resolves to the records of those of the projects that have one, with one call for a hundred of them. */
    async readProjects(
      projectIds: readonly string[],
    ): Promise<ReadonlyMap<string, ProjectRecord | 'unreadable'>> {
      const items = await table.getMany(projectIds.map((id) => projectKey(accountId, id)));
      return new Map(
        items.map((item) => [projectIdOf(item, accountId) ?? '', recordOf(item, noteUnreadable)] as const),
      );
    },

    /**
     * Makes one write. A bound or a resume point is written only beside `boundRead`, the bound that the poll has read, or
     * null when there was none: so a poll that began before a repair has lowered the bound cannot raise it again. Resolves
     * to `conflict` when another bound is stored, and nothing was written.
     */
    async saveProgress(
      projectId: string,
      progress: Progress,
      boundRead: Timestamp | null,
    ): Promise<RecordResult> {
      return resultOf(await table.update(progressUpdate(accountId, projectId, progress, boundRead)));
    },
  };
}

function recordOf(item: Item, noteUnreadable: NoteUnreadable): ProjectRecord | 'unreadable' {
  try {
    return readableRecord('project', item, noteUnreadable);
  } catch (error) {
    if (isUnreadable(error)) return 'unreadable';
    throw error;
  }
}

function progressUpdate(
  accountId: string,
  projectId: string,
  { bound, isLowered, since, resume, sweep, sweptAtMs, arrivals }: Progress,
  boundRead: Timestamp | null,
): Update {
  const isReach = bound !== undefined || resume !== undefined;
  const unchanged: Condition =
    boundRead === null
      ? { kind: 'absent', name: 'watermark' }
      : { kind: 'equals', name: 'watermark', value: boundRead };
  return {
    key: projectKey(accountId, projectId),
    set: {
      kind: 'project',
      account_id: accountId,
      project_id: projectId,
      watermark: bound,
      bound: isLowered ? LOWERED : bound,
      history_until: since,
      swept_at_ms: sweptAtMs,
      ...(resume && { resume: { ...resume } }),
      ...(sweep && { sweep: { ...sweep } }),
      ...(arrivals && { arrivals: { ...arrivals } }),
    },
    remove: [...(resume === null ? ['resume'] : []), ...(sweep === null ? ['sweep'] : [])],
    ...(isReach && { condition: unchanged }),
  };
}
