/**
 * Reads what is known of all projects of an account at once: their ids and names, which of them were never read, what
 * changed last and what failed, what has settled a failure, what is open, and what is not on the bus yet.
 */

import {
  type CountedHour,
  createHourCountsStore,
  type HourRange,
} from '../../../shared/insights/hour-counts.ts';
import type { CommandRecord } from '../../../shared/records/command-record.ts';
import { pendingEntries } from '../../../shared/records/journal.ts';
import type { JournalEntry } from '../../../shared/records/journal-entries.ts';
import type { JournalRecord } from '../../../shared/records/journal-record.ts';
import { isOpen, type OperationRecord } from '../../../shared/records/operation-record.ts';
import { wasRead } from '../../../shared/records/project-record.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { createWorkIndex } from '../../../shared/store/bridge-store.ts';
import {
  operationIdOf,
  projectKey,
  projectsListOf,
  type RecordName,
  recordNameOf,
} from '../../../shared/store/keys.ts';
import { createProjectNames } from '../../../shared/store/project-names.ts';
import { createProjectRecords, readableRecordsOf } from '../../../shared/store/records.ts';
import {
  CREATED_INDEX,
  FEED_INDEX,
  type IndexPage,
  type IndexPosition,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import type { NoteUnreadable } from '../../../shared/store/unreadable.ts';

/** A record that has events, with the time (ISO 8601) of the latest. */
export interface ChangedRecord extends RecordName {
  readonly changed_at: string;
}

export interface Changes {
  /** The record that changed last comes first. */
  readonly records: readonly ChangedRecord[];
  /** Older changes were not looked at. It is undefined when all were. ISO 8601. */
  readonly back_to: string | undefined;
}

interface ProjectIds {
  /** The ids are in their order. */
  readonly ids: readonly string[];
  /** It is false when the account has more projects than were read. */
  readonly isWhole: boolean;
}

export interface AccountActivity {
  /** Resolves to the latest changes, or those after a time (ISO 8601). The index has only keys, so this reads no item. */
  changes(after?: string): Promise<Changes>;
  projectIds(): Promise<ProjectIds>;
  /**
   * Resolves to those of the projects whose operations were never read to their end. One that was read stays so, and its
   * record is read once by this process.
   */
  neverRead(projectIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** Resolves to the names by project id. A project without a name, or of a key that lists no projects, is missing. */
  projectNames(): Promise<ReadonlyMap<string, string>>;
  projectName(projectId: string): Promise<string | undefined>;
  /** Resolves to what began and what failed in each of the last 24 hours, oldest first. */
  countedHours(range?: HourRange): Promise<readonly CountedHour[]>;
}

/** One query of an index reads at most this many keys, which take about 150 kB. */
export const KEYS_PER_QUERY = 1_000;

/** A page looks at 10,000 changes at most, which in a busy account are those of an hour. */
export const CHANGES_QUERIES_MAX = 10;

/** A page lists 20,000 projects at most, and while an account is read for the first time it reads the record of each. */
export const PROJECTS_QUERIES_MAX = 20;

interface ActivityDeps {
  readonly table: Table;
  readonly indexes: TableIndexes;
}

export function createAccountActivity(
  { table, indexes }: ActivityDeps,
  accountId: string,
  { clock, noteUnreadable }: { readonly clock: Clock; readonly noteUnreadable: NoteUnreadable },
): AccountActivity {
  const names = createProjectNames(table, accountId, noteUnreadable);
  const hours = createHourCountsStore(table, accountId, noteUnreadable);
  const projects = createProjectRecords(table, accountId, noteUnreadable);
  const read = new Set<string>();
  return {
    async changes(after) {
      const list = { index: FEED_INDEX, partition: accountId, newestFirst: true, after };
      const { keys, isWhole } = await readKeys(
        (start) => indexes.query({ ...list, limit: KEYS_PER_QUERY, start }),
        CHANGES_QUERIES_MAX,
      );
      const records = keys.flatMap((key) => {
        const record = recordNameOf(key, accountId);
        return record === undefined ? [] : [{ ...record, changed_at: key.sortKey }];
      });
      return { records, back_to: isWhole ? undefined : keys.at(-1)?.sortKey };
    },

    async projectIds() {
      const list = { index: LIST_INDEX, partition: projectsListOf(accountId) };
      const { keys, isWhole } = await readKeys(
        (start) => indexes.query({ ...list, limit: KEYS_PER_QUERY, start }),
        PROJECTS_QUERIES_MAX,
      );
      return { ids: keys.map(({ sortKey }) => sortKey), isWhole };
    },

    async neverRead(projectIds) {
      const records = await projects.readProjects(projectIds.filter((id) => !read.has(id)));
      for (const [id, record] of records) if (record !== 'unreadable' && wasRead(record)) read.add(id);
      return new Set(projectIds.filter((id) => !read.has(id)));
    },

    async projectNames() {
      const stored = await names.readAll();
      return new Map([...stored.values()].flatMap((each) => [...each.names]));
    },

    projectName: (projectId) => names.nameOf(projectId),
    countedHours: (range) => hours.readHours(clock.now(), range),
  };
}

async function readKeys(
  query: (start: IndexPosition | undefined) => Promise<IndexPage>,
  queriesMax: number,
): Promise<{ readonly keys: IndexPage['keys']; readonly isWhole: boolean }> {
  const keys: IndexPage['keys'][number][] = [];
  let start: IndexPosition | undefined;
  for (let count = 0; count < queriesMax; count++) {
    const page = await query(start);
    for (const key of page.keys) keys.push(key);
    if (page.next === undefined) return { keys, isWhole: true };
    start = page.next;
  }
  return { keys, isWhole: false };
}

export interface OpenWork {
  /**
   * Resolves to the operations of a project or of the account that have neither ended nor been given up, oldest
   * first.
   */
  openOperations(projectId?: string): Promise<readonly OperationRecord[]>;
  /**
   * Counts the events that are recorded and not on the bus yet. Normally there are none, or some that are a second
   * old.
   */
  unpublished(): Promise<Unpublished>;
  /** Answers both questions about the account with at most `WORK_AT_HAND_MAX` items, for a page that people wait for. */
  workAtHand(): Promise<WorkAtHand>;
}

/** Says what one bounded look at the work index has found. */
export interface WorkAtHand {
  /** These operations have not ended, oldest first. */
  readonly open: readonly OperationRecord[];
  /** These commands wait for their operations. */
  readonly commands: readonly CommandRecord[];
  readonly unpublished: Unpublished;
  /** This is false when the index holds more than was looked at. */
  readonly isWhole: boolean;
}

export interface Unpublished {
  readonly count: number;
  /** The oldest of them was observed at this time (ISO 8601). */
  readonly oldest_at: string | undefined;
}

/**
 * At most this many items are read at once. An account with more open operations is in trouble, and a longer list
 * would not help.
 */
export const OPEN_OPERATIONS_MAX = 1_000;

/** A page shows at most this many open operations, and what needs a person is found by its failures, too. */
export const WORK_AT_HAND_MAX = 80;

export function createOpenWork(table: Table, accountId: string, noteUnreadable: NoteUnreadable): OpenWork {
  const work = createWorkIndex(table, accountId, noteUnreadable);
  return {
    async openOperations(projectId) {
      const { entries } = await work.findWorkPage({ limit: OPEN_OPERATIONS_MAX, projectId });
      const operations = entries.filter(({ operationId }) => operationId !== undefined);
      const records = await work.readRecords(operations.map(({ key }) => key));
      return openOf(records);
    },

    async unpublished() {
      const { entries } = await work.findWorkPage({ limit: OPEN_OPERATIONS_MAX });
      return unpublishedOf(await work.readRecords(entries.map(({ key }) => key)));
    },

    async workAtHand() {
      const { entries, next } = await work.findWorkPage({ limit: WORK_AT_HAND_MAX });
      const records = await work.readRecords(entries.map(({ key }) => key));
      return {
        open: openOf(records),
        commands: records.flatMap((record) =>
          record.kind === 'command' && !record.is_settled ? [record] : [],
        ),
        unpublished: unpublishedOf(records),
        isWhole: next === undefined,
      };
    },
  };
}

function openOf(records: readonly JournalRecord[]): readonly OperationRecord[] {
  return records
    .flatMap((record) => (record.kind === 'operation' && isOpen(record) ? [record] : []))
    .toSorted((a, b) => a.created_at.localeCompare(b.created_at));
}

function unpublishedOf(records: readonly JournalRecord[]): Unpublished {
  const pending = records.flatMap((record) => pendingEntries<JournalEntry>(record));
  const times = pending.map(({ observed_at }) => observed_at).toSorted();
  return { count: pending.length, oldest_at: times[0] };
}

/** What is kept of an operation to say whether it has settled an earlier one. */
export type Successor = Pick<
  OperationRecord,
  | 'project_id'
  | 'operation_id'
  | 'action'
  | 'branch_id'
  | 'endpoint_id'
  | 'status'
  | 'created_at'
  | 'updated_at'
  | 'command'
>;

export interface Successors {
  /**
   * Resolves to the operation that has settled each of these, by the id of the settled one. Of each project the latest
   * `LATER_OPERATIONS_MAX` are looked at.
   */
  settledBy(failed: readonly OperationRecord[]): Promise<ReadonlyMap<string, Successor>>;
}

/** An action that works again is usually repeated soon, so an older success is rarely the only one. */
export const LATER_OPERATIONS_MAX = 40;

/** One page reads at most this many later operations. It looks at the others when it is asked for again. */
export const LATER_READ_MAX = 300;

/** A process remembers at most this many operations that have ended, in about eight megabytes. */
const ENDED_MAX = 20_000;

export function createSuccessors(
  { table, indexes }: ActivityDeps,
  accountId: string,
  noteUnreadable: NoteUnreadable,
): Successors {
  /** What has ended does not change, so it is read once. */
  const ended = new Map<string, Successor>();
  const keysAfter = async (projectId: string, after: string) => {
    const { pk: partition } = projectKey(accountId, projectId);
    const list = { index: CREATED_INDEX, partition, newestFirst: true };
    return (await indexes.query({ ...list, after, limit: LATER_OPERATIONS_MAX })).keys;
  };
  return {
    async settledBy(failed) {
      const ofProjects = [...Map.groupBy(failed, ({ project_id }) => project_id)];
      const firstOf = (records: readonly OperationRecord[]) =>
        records.map(({ created_at }) => created_at).toSorted()[0] ?? '';
      const keys = await Promise.all(ofProjects.map(([id, records]) => keysAfter(id, firstOf(records))));
      const unknown = keys.flat().filter((key) => !ended.has(operationIdOf(key) ?? ''));
      const items = await table.getMany(unknown.slice(0, LATER_READ_MAX));
      const present = readableRecordsOf('operation', items, noteUnreadable).map(successorOf);
      if (ended.size > ENDED_MAX) ended.clear();
      for (const operation of present) if (isEnded(operation)) ended.set(operation.operation_id, operation);
      const known = keys.flat().flatMap((key) => ended.get(operationIdOf(key) ?? '') ?? []);
      return settledAmong(failed, [...present, ...known]);
    },
  };
}

function isEnded({ status }: Successor): boolean {
  return status === 'finished' || status === 'skipped' || status === 'cancelled';
}

function successorOf(record: OperationRecord): Successor {
  const { project_id, operation_id, action, branch_id, endpoint_id, status, created_at, updated_at } = record;
  const { command } = record;
  return {
    project_id,
    operation_id,
    action,
    branch_id,
    endpoint_id,
    status,
    created_at,
    updated_at,
    command,
  };
}

/** Of several operations that have settled one, a success counts before a command that was only sent. */
export function settledAmong(
  failed: readonly OperationRecord[],
  later: readonly Successor[],
): ReadonlyMap<string, Successor> {
  const ofProjects = Map.groupBy(later, ({ project_id }) => project_id);
  return new Map(
    failed.flatMap((record) => {
      const settling = (ofProjects.get(record.project_id) ?? []).filter((one) => isSettling(one, record));
      const [settled] = [...settling.filter(({ status }) => status === 'finished'), ...settling];
      return settled === undefined ? [] : [[record.operation_id, settled] as const];
    }),
  );
}

/**
 * A later success of the same action on the same object settles a failure, and so does a command that asked for the
 * same again: that has a story of its own. Neither time nor another action settles anything.
 */
function isSettling(later: Successor, failed: OperationRecord): boolean {
  const isSameObject =
    later.endpoint_id === failed.endpoint_id &&
    (failed.endpoint_id !== undefined || later.branch_id === failed.branch_id);
  const isLater = Date.parse(later.created_at) > Date.parse(failed.created_at);
  const isRepeated = later.status === 'finished' || later.command !== undefined;
  return later.action === failed.action && isSameObject && isLater && isRepeated;
}
