/**
 * Keeps the queued commands of one account in the table: their items, the lines that order them, and the freeze. What
 * a command sends and what the upstream answers is sealed, because both may hold secrets.
 */

import * as z from 'zod';
import { type SealOptions, seal, unseal } from '../callers/seal.ts';
import { DAY_MS, isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import type { Secret } from '../runtime/secret.ts';
import {
  commandsListOf,
  freezeKey,
  lineProjectIdOf,
  linesOf,
  projectLineKey,
  queuedCommandKey,
  queuedCommandsOf,
} from '../store/keys.ts';
import {
  type Condition,
  type Item,
  type Key,
  listed,
  type Table,
  type Update,
  updateOnce,
} from '../store/table.ts';
import { type NoteUnreadable, readable, unreadableOf } from '../store/unreadable.ts';
import { CALLBACK_ATTRIBUTES } from './callbacks.ts';
import {
  type AccountFreeze,
  APPROVALS_LINE,
  accountFreeze,
  emptyLine,
  entryCountOf,
  hasLeftLine,
  isInLine,
  type ProjectLine,
  projectLine,
  type QueuedCommand,
  queuedCommand,
} from './queued-command.ts';

const fields = z.record(z.string(), z.unknown());

/**
 * The request as the API has checked it, with the method and the path template of its call. The seal proves that nobody
 * but the bridge has written them, so the worker needs no table of calls, and a command outlives a change of the table.
 */
const sealedParts = z.object({
  method: z.enum(['POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string(),
  query: fields,
  body: fields.optional(),
  /** The body as its caller wrote it, when that differs. */
  json: z.string().optional(),
});

export type SealedParts = Readonly<z.output<typeof sealedParts>>;

/**
 * An item of the table has at most 400 kB (Amazon DynamoDB Developer Guide, "Constraints"), and sealing makes a text a
 * third longer. The API takes bodies of 256 kB, and API Gateway takes a request line and headers of 10 kB, so every
 * request that arrives can be kept.
 */
export const REQUEST_BYTES_MAX = 270_000;

/**
 * Returns undefined when the request is too large to be kept. One that is too large only together with its caller's own
 * words is kept without them.
 */
export function sealRequest(
  { json, ...parts }: SealedParts,
  key: Secret,
  commandId: string,
): string | undefined {
  const isTheSame = json === undefined || json === JSON.stringify(parts.body);
  const texts = [...(isTheSame ? [] : [{ ...parts, json }]), parts].map((each) => JSON.stringify(each));
  const text = texts.find((each) => Buffer.byteLength(each) <= REQUEST_BYTES_MAX);
  return text && seal(text, optionsOf('queued-request', key, commandId));
}

/** Returns undefined when the text was sealed with another key or by another version, or was damaged. */
export function openRequest(sealed: string, key: Secret, commandId: string): SealedParts | undefined {
  const text = unseal(sealed, optionsOf('queued-request', key, commandId));
  return text === undefined ? undefined : sealedParts.safeParse(JSON.parse(text)).data;
}

export function sealAnswer(text: string, key: Secret, commandId: string): string {
  return seal(text, optionsOf('queued-answer', key, commandId));
}

export function openAnswer(sealed: string, key: Secret, commandId: string): string | undefined {
  return unseal(sealed, optionsOf('queued-answer', key, commandId));
}

function optionsOf(purpose: SealOptions['purpose'], key: Secret, commandId: string): SealOptions {
  return { key, purpose, boundTo: commandId };
}

/** A command can be asked for, with its answer, for this long after its last step. Its audit record is kept longer. */
export const COMMAND_KEPT_MS = DAY_MS;

/** The attributes of the items of the queue, by name. */
export const QUEUE_ATTRIBUTES: readonly string[] = [
  'written_by',
  ...new Set([
    ...[queuedCommand, projectLine, accountFreeze].flatMap(({ shape }) => Object.keys(shape)),
    ...CALLBACK_ATTRIBUTES,
  ]),
];

export type QueueStore = ReturnType<typeof createQueueStore>;

/** `conflict`: the item has changed since it was read, and nothing was written. */
export type WriteResult = 'written' | 'conflict';

export interface QueueStorePorts {
  readonly clock: Clock;
  readonly noteUnreadable: NoteUnreadable;
  /** Each write of a command names itself by an id of its own. */
  readonly newId: () => string;
}

/** Each conflict means that another process has changed the line, and callers append at most a hundred commands. */
const ATTEMPTS_MAX = 100;

/**
 * Changes the line until no other process has changed it meanwhile. Resolves to what `change` returns in place of a line,
 * and to `written`. Rejects when the table does.
 */
export async function updateLine<Other>(
  queue: QueueStore,
  projectId: string,
  change: (line: ProjectLine) => ProjectLine | Other,
): Promise<Exclude<Other, ProjectLine> | 'written'> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const next = change(await queue.readLine(projectId));
    if (!isLine(next)) return next as Exclude<Other, ProjectLine>;
    if ((await queue.changeLine(next)) === 'written') return 'written';
  }
  throw new AppError('line_contended', `The line of ${projectId} changed ${ATTEMPTS_MAX} times in a row`);
}

function isLine(next: unknown): next is ProjectLine {
  return typeof next === 'object' && next !== null;
}

/** Every method rejects when the table does; after a write it is unknown then whether the write was made. */
export function createQueueStore(
  table: Table,
  accountId: string,
  { clock, noteUnreadable, newId }: QueueStorePorts,
) {
  const read = async <Schema extends z.ZodType>(key: Key, schema: Schema) => {
    const item = await table.get(key);
    return item && readable(schema, item, noteUnreadable);
  };
  /** An older version leaves `written_by` as it is, so the revision is compared, too. */
  const writeCommand = async (command: QueuedCommand, condition: Condition): Promise<WriteResult> => {
    const update = commandUpdate({ ...command, written_by: newId() }, condition, clock.now());
    return (await updateOnce(table, update, ['written_by', 'revision'])) === 'applied'
      ? 'written'
      : 'conflict';
  };

  return {
    /** Resolves to undefined when there is no such command. Rejects with `UnreadableItemError` when it cannot be read. */
    readCommand: (commandId: string): Promise<QueuedCommand | undefined> =>
      read(queuedCommandKey(accountId, commandId), queuedCommand),

    /** Writes the item of a new command, which is not in its line yet. */
    addCommand: (command: QueuedCommand): Promise<WriteResult> =>
      writeCommand(command, { kind: 'absent', name: 'pk' }),

    /** Writes the next step of a command, unless another process has taken a step since the command was read. */
    changeCommand: (next: QueuedCommand): Promise<WriteResult> =>
      writeCommand(next, isRevision(next.revision - 1)),

    /** Resolves to an empty line when there is none. */
    readLine: async (projectId: string): Promise<ProjectLine> =>
      (await read(projectLineKey(accountId, projectId), projectLine)) ?? emptyLine(accountId, projectId),

    /** Who meets a conflict reads the line again, and finds there what a write of its own has done. */
    changeLine: async (next: ProjectLine): Promise<WriteResult> =>
      (await table.update(lineUpdate(next, clock.now()))) === 'applied' ? 'written' : 'conflict',

    /**
     * Counts the commands that wait in the lines of the account, and the caller's among them, up to `countMax` lines. The
     * index can lag by a moment. Items that a crash has left outside of their lines are in the index, too, so from `exactFrom`
     * on the lines themselves are counted, and below it every command may be the caller's.
     */
    async countWaiting(
      clientId: string,
      { exactFrom, countMax }: { readonly exactFrom: number; readonly countMax: number },
    ): Promise<{ readonly all: number; readonly ofCaller: number }> {
      const { keys } = await table.queryWorkPage({ work: queuedCommandsOf(accountId), limit: exactFrom });
      if (keys.length < exactFrom) return { all: keys.length, ofCaller: keys.length };
      const lines = await table.queryWorkPage({ work: linesOf(accountId), limit: countMax });
      const items = await table.getMany(lines.keys);
      const found = readableLines(items, noteUnreadable).filter(
        ({ project_id }) => project_id !== APPROVALS_LINE,
      );
      return {
        all: sumOf(found, ({ entries }) => entries.length),
        ofCaller: sumOf(found, (line) => entryCountOf(line, clientId)),
      };
    },

    /** Finds the projects whose lines are not empty, up to `projectsMax`. The index can lag by a moment. */
    async findLines(projectsMax: number): Promise<readonly string[]> {
      const { keys } = await table.queryWorkPage({ work: linesOf(accountId), limit: projectsMax });
      return keys.flatMap((key) => lineProjectIdOf(key, accountId) ?? []);
    },

    /** Resolves to undefined when the account is not frozen. */
    async readFreeze(): Promise<AccountFreeze | undefined> {
      const found = await read(freezeKey(accountId), accountFreeze);
      return found?.is_frozen === true ? found : undefined;
    },

    async writeFreeze(change: Omit<AccountFreeze, 'changed_at'>): Promise<void> {
      const set = { kind: 'freeze', ...change, changed_at: isoTimeOf(clock.now()) };
      await table.update({ key: freezeKey(accountId), set });
    },
  };
}

/** The operations of a command may take a day, and the command is kept for a day after them. */
function expiresAtOf(...timesMs: readonly number[]): number {
  return Math.ceil((Math.max(...timesMs) + 2 * COMMAND_KEPT_MS) / 1_000);
}

function commandUpdate(
  command: QueuedCommand & { readonly written_by: string },
  condition: Condition,
  nowMs: number,
): Update {
  const { account_id, command_id, accepted_at, deadline_at_ms } = command;
  const isWaiting = isInLine(command);
  const names = Object.keys(queuedCommand.shape) as (keyof QueuedCommand)[];
  // The API cannot read the request of a command, and must not delete it while it is still to be sent.
  const keepsRequest = !hasLeftLine(command.state);
  const absent = names.filter((name) => command[name] === undefined && !(keepsRequest && name === 'request'));
  return {
    key: queuedCommandKey(account_id, command_id),
    set: {
      kind: 'queued_command',
      ...command,
      ...listed(commandsListOf(account_id), `${accepted_at}#${command_id}`),
      expires_at: expiresAtOf(nowMs, deadline_at_ms),
      ...(isWaiting && { work: queuedCommandsOf(account_id) }),
    },
    remove: [...absent, ...(isWaiting ? [] : ['work'])],
    condition,
  };
}

/** A line goes when nobody has changed it for as long as its commands are kept. An empty one stands for the same as none. */
function lineUpdate(line: ProjectLine, nowMs: number): Update {
  const { account_id, project_id, revision, entries } = line;
  const isEmpty = entries.length === 0;
  return {
    key: projectLineKey(account_id, project_id),
    set: {
      kind: 'project_line',
      ...line,
      expires_at: expiresAtOf(nowMs, ...entries.map(({ deadline_at_ms }) => deadline_at_ms)),
      ...(!isEmpty && { work: linesOf(account_id) }),
    },
    remove: isEmpty ? ['work'] : [],
    condition: revision === 1 ? { kind: 'absent', name: 'pk' } : isRevision(revision - 1),
  };
}

/** A line that cannot be read counts as empty, and is noted. */
function readableLines(items: readonly Item[], noteUnreadable: NoteUnreadable): readonly ProjectLine[] {
  return items.flatMap((item) => {
    const line = projectLine.safeParse(item);
    if (!line.success) noteUnreadable(unreadableOf(item, line.error));
    return line.data ?? [];
  });
}

function sumOf(lines: readonly ProjectLine[], countOf: (line: ProjectLine) => number): number {
  return lines.reduce((sum, line) => sum + countOf(line), 0);
}

function isRevision(revision: number): Condition {
  return { kind: 'equals', name: 'revision', value: revision };
}

/** Leaves out the items that cannot be read, and notes them. */
export function readableCommands(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly QueuedCommand[] {
  return items.flatMap((item) => {
    const result = queuedCommand.safeParse(item);
    if (!result.success) noteUnreadable(unreadableOf(item, result.error));
    return result.data ?? [];
  });
}
