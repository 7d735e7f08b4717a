/**
 * Reads what people and apps see of one account: lists in pages, single records, open work, events and the audit.
 * Each caller has a read model whose cursors are sealed.
 */

import {
  createIncidentStore,
  type IncidentRecord,
  readableIncidents,
} from '../../../shared/alerts/incidents.ts';
import { createMuteStore } from '../../../shared/alerts/mutes.ts';
import type { CursorSeal } from '../../../shared/callers/seal.ts';
import { readableToken, type TokenRecord } from '../../../shared/callers/tokens.ts';
import { type CallbackView, createCallbacks } from '../../../shared/commands/callbacks.ts';
import { readableCommands } from '../../../shared/commands/queue-store.ts';
import type { QueuedCommand } from '../../../shared/commands/queued-command.ts';
import { createInsightsStore, type DayInsights } from '../../../shared/insights/day-insights.ts';
import type { AccountRecord } from '../../../shared/records/account-record.ts';
import type { CommandRecord } from '../../../shared/records/command-record.ts';
import type { BranchRecord, ComputeRecord } from '../../../shared/records/journal-record.ts';
import type { OperationRecord } from '../../../shared/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/records/project-record.ts';
import type { Timestamp } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import {
  branchKey,
  commandKey,
  commandsListOf,
  computeKey,
  incidentsListOf,
  projectKey,
  projectsListOf,
  tokensListOf,
} from '../../../shared/store/keys.ts';
import {
  createAccountRecords,
  createOperationRecords,
  createProjectRecords,
  type RecordResult,
  readableRecord,
  readableRecordsOf,
} from '../../../shared/store/records.ts';
import {
  CREATED_INDEX,
  type Key,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import { ignoreUnreadable, type NoteUnreadable, unlessUnreadable } from '../../../shared/store/unreadable.ts';
import {
  createReadingWishes,
  createRepairs,
  createReplays,
  type Repair,
  type RepairRequest,
  type Replays,
} from '../../../shared/store/wishes.ts';
import {
  type AccountActivity,
  createAccountActivity,
  createOpenWork,
  createSuccessors,
  type OpenWork,
  type Successors,
} from './account-activity.ts';
import { createHeldBack, type HeldBackReader } from './alerts.ts';
import { type AuditReader, createAuditReader } from './audit-reader.ts';
import { createEventFeed, type EventFeed } from './event-feed.ts';
import {
  decodeCursor,
  encodeCursor,
  type Page,
  type PageRequest,
  positionSchema,
  readPage,
} from './list-page.ts';

interface ProjectReader {
  /** Resolves to the time before which what had ended in the project is history, or to undefined when it is not known. */
  watchedSince(projectId: string): Promise<Timestamp | undefined>;
  /** Resolves to projects in the order of their ids. */
  projects(request: PageRequest): Promise<Page<ProjectRecord>>;
  project(projectId: string): Promise<ProjectRecord | undefined>;
}

export interface OperationReader {
  /** Resolves to operations newest first, by the time at which the upstream created them. */
  operations(projectId: string, request: PageRequest): Promise<Page<OperationRecord>>;
  operation(projectId: string, operationId: string): Promise<OperationRecord | undefined>;
}

interface CommandReader {
  /** Queued commands and those that have left the line within a day, newest first. */
  queuedCommands(request: PageRequest): Promise<Page<QueuedCommand>>;
  command(projectId: string, requestId: string): Promise<CommandRecord | undefined>;
  /** Resolves to undefined when no workflow waits for the command. */
  callback(requestId: string): Promise<CallbackView | undefined>;
}

interface InsightReader {
  /**
   * Resolves to what operations took that ended on the last days: those of a project, or those of the account. Days of
   * which nothing is known are missing.
   */
  endedDays(projectId?: string): Promise<readonly DayInsights[]>;
}

interface IncidentReader {
  /** Resolves to incidents newest first: open ones by their begin, ended ones by their end. */
  incidents(state: 'open' | 'ended', request: PageRequest): Promise<Page<IncidentRecord>>;
}

/** Branches and computes are known once an operation that was news has created or changed them. */
export interface DerivedReader {
  branch(projectId: string, branchId: string): Promise<BranchRecord | undefined>;
  compute(projectId: string, endpointId: string): Promise<ComputeRecord | undefined>;
}

/**
 * The read model writes only these: wishes that the poller read a project soon, that it repair a project, and that it
 * publish recorded events again.
 */
interface ReadWisher {
  wishForReading(projectId: string, intervalMs: number): Promise<void>;
  /** Resolves to `conflict` while another repair of the project has not ended. */
  requestRepair(request: RepairRequest): Promise<RecordResult>;
  repair(projectId: string): Promise<Repair | undefined>;
}

interface TokenReader {
  /** Resolves to tokens of the account, the newest first. A token itself is not stored, and its hash is left out. */
  tokens(request: PageRequest): Promise<Page<ShownToken>>;
}

export type ShownToken = Omit<TokenRecord, 'hash'>;

/** A list leaves out the items that cannot be read, and notes them. A read of one record rejects with `UnreadableItemError`. */
export interface ReadModel
  extends ProjectReader,
    OperationReader,
    CommandReader,
    InsightReader,
    IncidentReader,
    DerivedReader,
    ReadWisher,
    Replays,
    TokenReader,
    HeldBackReader,
    OpenWork,
    Successors,
    AccountActivity {
  readonly accountId: string;
  /** Resolves to the record with the events that are about the account itself. */
  account(): Promise<AccountRecord | undefined>;
  readonly feed: EventFeed;
  readonly audit: AuditReader;
}

export interface ReadPorts {
  readonly clock: Clock;
  readonly noteUnreadable?: NoteUnreadable;
  /** The bridge ends tasks of workflows, so a command may have a callback. */
  readonly takesCallbacks?: boolean;
}

export function createReadModel(
  table: Table,
  indexes: TableIndexes,
  accountId: string,
  { clock, noteUnreadable = ignoreUnreadable, takesCallbacks = false }: ReadPorts,
): ReadModel {
  const accounts = createAccountRecords(table, accountId, noteUnreadable);
  const projects = createProjectRecords(table, accountId, noteUnreadable);
  const operations = createOperationRecords(table, accountId, noteUnreadable);
  const wishes = createReadingWishes(table, accountId, clock);
  const repairs = createRepairs(table, accountId, { clock, noteUnreadable });
  const insights = createInsightsStore(table, accountId, noteUnreadable);
  const callbacks = createCallbacks(table, accountId, noteUnreadable);
  const pages = { table, indexes };
  const mutes = createMuteStore(table, indexes, accountId, { clock, noteUnreadable });
  const incidents = createIncidentStore(table, accountId, { clock, noteUnreadable });
  const readOne = async <K extends 'command' | 'branch' | 'compute'>(kind: K, key: Key) => {
    const item = await table.get(key);
    return item && readableRecord(kind, item, noteUnreadable);
  };

  return {
    accountId,
    account: () => accounts.readAccount(),
    feed: createEventFeed(table, indexes, accountId, { clock, noteUnreadable }),
    audit: createAuditReader(table, indexes, accountId),
    ...createOpenWork(table, accountId, noteUnreadable),
    ...createSuccessors(pages, accountId, noteUnreadable),
    ...createAccountActivity(pages, accountId, { clock, noteUnreadable }),
    wishForReading: (projectId, intervalMs) => wishes.wishForReading(projectId, intervalMs),
    requestRepair: (request) => repairs.requestRepair(request),
    repair: (projectId) => repairs.readRepair(projectId),
    ...createReplays(table, accountId, { clock, noteUnreadable }),
    ...createHeldBack(accountId, mutes, incidents),
    endedDays: (projectId) => insights.readDays(projectId, clock.now()),
    project: (projectId) => projects.readProject(projectId),
    async watchedSince(projectId) {
      const [project, origin] = await Promise.all([
        unlessUnreadable(projects.readProject(projectId)),
        accounts.readOrigin(),
      ]);
      return project?.since ?? (origin === 'unreadable' ? undefined : origin?.boot_at);
    },
    operation: (projectId, operationId) => operations.readOperation(projectId, operationId),

    async projects(request) {
      const list = { index: LIST_INDEX, partition: projectsListOf(accountId) };
      const { items, next } = await readPage(pages, list, request);
      return { items: readableRecordsOf('project', items, noteUnreadable), next };
    },

    async operations(projectId, request) {
      const { pk: partition } = projectKey(accountId, projectId);
      const list = { index: CREATED_INDEX, partition, newestFirst: true };
      const { items, next } = await readPage(pages, list, request);
      return { items: readableRecordsOf('operation', items, noteUnreadable), next };
    },

    async queuedCommands(request) {
      const list = { index: LIST_INDEX, partition: commandsListOf(accountId), newestFirst: true };
      const { items, next } = await readPage(pages, list, request);
      return { items: readableCommands(items, noteUnreadable), next };
    },

    async tokens({ limit, cursor }) {
      const partition = tokensListOf(accountId);
      const schema = positionSchema(LIST_INDEX.partitionKey, partition);
      const start = cursor === undefined ? undefined : decodeCursor(schema, cursor);
      const query = { index: LIST_INDEX, partition, newestFirst: true, limit, start };
      const { keys, next } = await indexes.query(query);
      // The role of the API may read one token at a time only, as it does for each request.
      const items = await Promise.all(keys.map(({ pk, sk }) => table.get({ pk, sk })));
      const records = items.flatMap((item) => (item ? readableToken(item, noteUnreadable) : []));
      return { items: records.map(({ hash: _hash, ...shown }) => shown), next: next && encodeCursor(next) };
    },

    async incidents(state, request) {
      const list = { index: LIST_INDEX, partition: incidentsListOf(accountId, state), newestFirst: true };
      const { items, next } = await readPage(pages, list, request);
      return { items: readableIncidents(items, noteUnreadable), next };
    },

    command: (projectId, requestId) => readOne('command', commandKey(accountId, projectId, requestId)),
    callback: async (requestId) => (takesCallbacks ? callbacks.view(requestId) : undefined),
    branch: (projectId, branchId) => readOne('branch', branchKey(accountId, projectId, branchId)),
    compute: (projectId, endpointId) => readOne('compute', computeKey(accountId, projectId, endpointId)),
  };
}

export function sealedReadModel(model: ReadModel, cursors: CursorSeal): ReadModel {
  const { seal, open, opened, sealed } = sealing(cursors);
  return {
    ...model,
    tokens: async (request) => sealed(await model.tokens(opened(request))),
    projects: async (request) => sealed(await model.projects(opened(request))),
    queuedCommands: async (request) => sealed(await model.queuedCommands(opened(request))),
    incidents: async (state, request) => sealed(await model.incidents(state, opened(request))),
    operations: async (projectId, request) => sealed(await model.operations(projectId, opened(request))),
    audit: sealedAudit(model.audit, cursors),
    feed: {
      start: (from) => seal(model.feed.start(from)),
      async since(cursor, limit) {
        const page = await model.feed.since(open(cursor), limit);
        return { ...page, cursor: seal(page.cursor) };
      },
      recent: async (request) => sealed(await model.feed.recent(opened(request))),
    },
  };
}

/** Wraps the audit of one account, which need not be that of the caller. */
export function sealedAudit(read: AuditReader, cursors: CursorSeal): AuditReader {
  const { opened, sealed } = sealing(cursors);
  return async (request) => {
    const page = await read(opened(request));
    return sealed(page);
  };
}

function sealing(cursors: CursorSeal) {
  // A cursor of the table is JSON in base64. The JSON itself is sealed, which keeps the cursor short enough for a URL.
  const open = (cursor: string) => Buffer.from(cursors.open(cursor)).toString('base64url');
  const seal = (cursor: string) => cursors.seal(Buffer.from(cursor, 'base64url').toString());
  const opened = <Request extends PageRequest>(request: Request): Request =>
    request.cursor === undefined ? request : { ...request, cursor: open(request.cursor) };
  const sealed = <Sealed extends Page<unknown>>(page: Sealed): Sealed => ({
    ...page,
    next: page.next === undefined ? undefined : seal(page.next),
  });
  return { open, seal, opened, sealed };
}
