/**
 * Writes one item of every kind and state of the queue of commands through the store of production, and reads what the
 * code makes of such items. The items of a release are kept as a fixture, by which a later version is measured.
 */

import { randomUUID } from 'node:crypto';
import { createQueueStore, sealAnswer, sealRequest } from '../../shared/commands/queue-store.ts';
import {
  beginSending,
  COMMAND_STATES,
  type CommandEnd,
  type CommandState,
  emptyLine,
  leaveLine,
  lineHeldBy,
  lineWith,
  type QueuedCommand,
} from '../../shared/commands/queued-command.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import type { Table } from '../../shared/store/table.ts';
import { aClock, NOON_MS } from '../builders.ts';

const ACCOUNT_ID = 'main';
const PROJECT_IDS = ['quiet-pond-12345678', 'empty-line', 'paused-line', 'never-queued'] as const;
const PEPPER = createSecret('a-pepper-of-fixtures');

export function aQueuedCommand(fields: Partial<QueuedCommand> = {}): QueuedCommand {
  return {
    account_id: ACCOUNT_ID,
    command_id: 'a-command',
    project_id: PROJECT_IDS[0],
    client_id: 'an-app',
    call: 'restartEndpoint',
    ids: { project_id: PROJECT_IDS[0], endpoint_id: 'ep-quiet-pond-a1234567' },
    state: 'queued',
    revision: 1,
    accepted_at: new Date(NOON_MS).toISOString(),
    deadline_at_ms: NOON_MS + 900_000,
    request: 'sealed',
    ...fields,
  };
}

const storeOn = (table: Table, accountId = ACCOUNT_ID) =>
  createQueueStore(table, accountId, {
    clock: aClock(),
    noteUnreadable: () => {},
    newId: randomUUID,
  });

/** Whether all operations have ended is said by the record of the command, and never stored with it. */
const STORED_STATES = COMMAND_STATES.filter((state) => state !== 'incomplete');

export async function writeEveryQueueItem(table: Table): Promise<void> {
  const store = storeOn(table);
  for (const state of STORED_STATES) {
    const queued = newCommand(state);
    await store.addCommand(queued);
    if (state === 'queued' || state === 'awaiting_approval') continue;
    const next = state === 'sent' ? beginSending(queued, NOON_MS) : ended(queued, state);
    await store.changeCommand(next);
  }
  await writeLines(table);
  await store.writeFreeze({ is_frozen: true, reason: 'A change window.', client_id: 'an-app' });
  await storeOn(table, 'lifted').writeFreeze({ is_frozen: false, reason: '', client_id: 'an-app' });
}

/** The command has its state as its id. */
function newCommand(command_id: CommandState): QueuedCommand {
  const parts = {
    method: 'POST',
    path: '/projects/{project_id}/endpoints/{endpoint_id}/restart',
    query: {},
    body: { a: 1 },
  } as const;
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const request = sealRequest(parts, PEPPER, command_id) ?? '';
  const asksFirst = command_id === 'awaiting_approval' || command_id === 'denied';
  return aQueuedCommand({
    command_id,
    request,
    ...(command_id === 'queued' && { traceparent }),
    ...(asksFirst && { state: 'awaiting_approval' as const, approval: 'announced' as const }),
  });
}

function ended(command: QueuedCommand, state: CommandEnd['state']): QueuedCommand {
  const { command_id } = command;
  const body = sealAnswer('{"endpoint":{"id":"ep-quiet-pond-a1234567"}}', PEPPER, command_id);
  const answer = { status: state === 'refused' ? 404 : 200, content_type: 'application/json', body };
  const isAnswered = state === 'running' || state === 'succeeded' || state === 'refused';
  const end = isAnswered
    ? { state, answer, operation_ids: state === 'running' ? ['an-operation'] : [] }
    : { state, reason: 'A sentence says why.' };
  return leaveLine(command, end, NOON_MS);
}

async function writeLines(table: Table): Promise<void> {
  const store = storeOn(table);
  for (const projectId of PROJECT_IDS.slice(0, 3)) {
    const line = emptyLine(ACCOUNT_ID, projectId);
    const entry = { command_id: 'queued', deadline_at_ms: NOON_MS + 900_000, client_id: 'deployer' };
    const joined = projectId === 'empty-line' ? { ...line, revision: 1 } : lineWith(line, entry);
    if (joined === undefined || typeof joined === 'string') throw new Error('The line took no command');
    await store.changeLine(joined);
    const pauseMs = projectId === 'paused-line' ? 30_000 : 0;
    const waiting_for = pauseMs > 0 ? [] : ['an-operation', 'another-operation'];
    const held = lineHeldBy(joined, { waiting_for, not_before_ms: pauseMs > 0 ? NOON_MS + pauseMs : 0 });
    if (held !== undefined) await store.changeLine(held);
  }
}

/** Reads what the code under test makes of these items, by a name for each. */
export async function readEveryQueueItem(table: Table): Promise<Readonly<Record<string, unknown>>> {
  const store = storeOn(table);
  const read: Record<string, unknown> = {};
  for (const state of STORED_STATES) read[`command ${state}`] = await store.readCommand(state);
  for (const id of PROJECT_IDS) read[`line ${id}`] = await store.readLine(id);
  read['freeze'] = await store.readFreeze();
  read['lifted freeze'] = (await storeOn(table, 'lifted').readFreeze()) ?? null;
  read['waiting commands'] = (await store.countWaiting('deployer', { exactFrom: 100, countMax: 100 })).all;
  read['lines'] = (await store.findLines(100)).toSorted();
  return JSON.parse(JSON.stringify(read)) as Record<string, unknown>;
}
