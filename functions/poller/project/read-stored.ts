/**
 * Reads what the table holds of a project before the upstream is asked. This order makes every later compare-and-set
 * safe (ADR 0002).
 */

import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import type { OperationRecord } from '../../../shared/core/records/operation-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { OperationsReader } from '../../../shared/protocol/settle-commands.ts';
import type {
  WorkIndexEntry,
  WorkIndexPage,
  WorkPageRequest,
} from '../../../shared/store/adapters/work-index.ts';
import { accountKey } from '../../../shared/store/keys.ts';
import type { Key } from '../../../shared/store/table.ts';
import { UnreadableItemError } from '../../../shared/store/unreadable.ts';
import type { ProjectMemory } from './memory/project-memory.ts';

export interface ProjectReader {
  readonly accountId: string;
  readProject(projectId: string): Promise<ProjectRecord | undefined>;
}

export interface StoredReader extends ProjectReader, OperationsReader {
  findWorkPage(request: WorkPageRequest): Promise<WorkIndexPage>;
  readCommands(keys: readonly Key[]): Promise<readonly CommandRecord[]>;
}

/** Describes what was stored of a project when the poll began. */
export interface StoredProject {
  readonly project: ProjectRecord | undefined;
  /** These commands of the project are not settled, or their end is not published. */
  readonly commands: readonly CommandRecord[];
  /** These operations, by id, are open, or some of their entries are not published. */
  readonly operations: ReadonlyMap<string, OperationRecord>;
  /** The work index names something of the project beside `operations`, whether or not it can be read. */
  readonly hasWork: boolean;
}

/**
 * One poll reads at most this many entries of the work index, which shows open and unpublished items. Projects have a
 * few. After an outage of the bus there may be thousands, and then each poll reads the entries that follow those of
 * the previous poll.
 */
export const WORK_ENTRIES_MAX = 100;

/**
 * `bootAt` is the account's `boot_at`. Rejects with `UnreadableItemError` when it cannot be read and the project has
 * no watermark: nothing says then what is history there, so the project waits and its history is not published as
 * news.
 */
export async function readStored(
  store: StoredReader,
  { projectId, bootAt }: { readonly projectId: string; readonly bootAt: Timestamp | undefined },
  memory: Pick<ProjectMemory, 'nextEntries'>,
): Promise<StoredProject> {
  const [project, { entries, next }] = await Promise.all([
    store.readProject(projectId),
    store.findWorkPage({ projectId, limit: WORK_ENTRIES_MAX, start: memory.nextEntries }),
  ]);
  memory.nextEntries = next;
  if (bootAt === undefined && project?.watermark === undefined)
    throw new UnreadableItemError({ key: accountKey(store.accountId), fields: ['boot_at'] });
  const operationIds = entries.flatMap(({ operationId }) => operationId ?? []);
  const [{ records: operations }, commands] = await Promise.all([
    store.readOperations(projectId, operationIds),
    store.readCommands(commandKeysOf(entries)),
  ]);
  const isRead = ({ operationId }: WorkIndexEntry) =>
    operationId !== undefined && operations.has(operationId);
  const hasWork = next !== undefined || !entries.every(isRead);
  return { project, commands, operations, hasWork };
}

/**
 * Reads the commands of a project that was taken to be quiet, because its list shows something new. Resolves to all
 * of them that can be read, and at most `WORK_ENTRIES_MAX`.
 */
export async function readNewCommands(
  store: Pick<StoredReader, 'findWorkPage' | 'readCommands'>,
  projectId: string,
): Promise<readonly CommandRecord[]> {
  const { entries } = await store.findWorkPage({ projectId, limit: WORK_ENTRIES_MAX });
  return store.readCommands(commandKeysOf(entries));
}

function commandKeysOf(entries: readonly WorkIndexEntry[]): readonly Key[] {
  return entries.flatMap(({ key, isCommand }) => (isCommand ? key : []));
}
