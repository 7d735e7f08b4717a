import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  createQueueStore,
  QUEUE_ATTRIBUTES,
  readableCommands,
} from '../../../shared/commands/queue-store.ts';
import type { ProjectLine } from '../../../shared/commands/queued-command.ts';
import {
  beginSending,
  emptyLine,
  leaveLine,
  lineWith,
  lineWithout,
  type QueuedCommand,
} from '../../../shared/commands/queued-command.ts';
import { freezeKey, projectLineKey, queuedCommandKey } from '../../../shared/store/keys.ts';
import { type UnreadableItem, UnreadableItemError } from '../../../shared/store/unreadable.ts';
import { aClock, NOON_MS } from '../../builders.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';

const PROJECT_ID = 'bold-sound-12345678';
const DAY_SECONDS = 86_400;

const aCommand = (fields: Partial<QueuedCommand> = {}): QueuedCommand => ({
  account_id: 'main',
  command_id: 'command-1',
  project_id: PROJECT_ID,
  client_id: 'deployer',
  call: 'restartEndpoint',
  ids: { project_id: PROJECT_ID },
  state: 'queued',
  revision: 1,
  accepted_at: '2026-01-15T12:00:00.000Z',
  deadline_at_ms: NOON_MS + 900_000,
  request: 'sealed',
  ...fields,
});

function createStore() {
  let nowMs = NOON_MS;
  const table = createMemoryTable();
  const unreadable: UnreadableItem[] = [];
  const store = createQueueStore(table, 'main', {
    clock: aClock(() => nowMs),
    noteUnreadable: (item) => unreadable.push(item),
    newId: randomUUID,
  });
  const itemOf = (id: string) => table.sync.peek(queuedCommandKey('main', id));
  const lineItem = () => table.sync.peek(projectLineKey('main', PROJECT_ID));
  const at = (ms: number) => {
    nowMs = ms;
  };
  return { table, store, unreadable, itemOf, lineItem, at };
}

const withEntry = (line: ProjectLine, command_id: string, client_id = 'deployer') =>
  lineWith(line, { command_id, deadline_at_ms: NOON_MS, client_id }) as ProjectLine;

describe('a command in the table', () => {
  test('is read as it was written', async () => {
    const { store } = createStore();

    expect(await store.addCommand(aCommand())).toBe('written');
    expect(await store.readCommand('command-1')).toEqual(aCommand());
    expect(await store.readCommand('command-2')).toBeUndefined();
  });

  test('is added once', async () => {
    const { store } = createStore();
    await store.addCommand(aCommand());

    expect(await store.addCommand(aCommand({ client_id: 'another' }))).toBe('conflict');
    expect(await store.readCommand('command-1')).toMatchObject({ client_id: 'deployer' });
  });

  test('takes each step once', async () => {
    const { store } = createStore();
    await store.addCommand(aCommand());
    const sending = beginSending(aCommand(), NOON_MS);

    expect(await store.changeCommand(sending)).toBe('written');
    expect(await store.changeCommand(sending)).toBe('conflict');
    expect(await store.readCommand('command-1')).toEqual(sending);
  });

  test('loses the fields that its next step does not have', async () => {
    const { store, itemOf } = createStore();
    await store.addCommand(aCommand());
    await store.changeCommand(leaveLine(aCommand(), { state: 'cancelled' }, NOON_MS));

    expect(itemOf('command-1')).not.toHaveProperty('request');
    expect(itemOf('command-1')).toMatchObject({ kind: 'queued_command', state: 'cancelled' });
  });

  test('is kept for two days after its deadline, or after its last step if that is later', async () => {
    const { store, itemOf, at } = createStore();
    await store.addCommand(aCommand());
    expect(itemOf('command-1')).toMatchObject({ expires_at: NOON_MS / 1_000 + 900 + 2 * DAY_SECONDS });

    at(NOON_MS + 1_000_500);
    await store.changeCommand(leaveLine(aCommand(), { state: 'expired' }, NOON_MS));
    expect(itemOf('command-1')).toMatchObject({ expires_at: NOON_MS / 1_000 + 1_001 + 2 * DAY_SECONDS });
  });

  test('is listed by the time at which it was accepted', async () => {
    const { store, itemOf } = createStore();
    await store.addCommand(aCommand());

    expect(Object.values(itemOf('command-1') ?? {})).toContain('2026-01-15T12:00:00.000Z#command-1');
  });

  test('counts as waiting until it leaves the line', async () => {
    const { store } = createStore();
    for (const command_id of ['a', 'b', 'c']) await store.addCommand(aCommand({ command_id }));
    const count = async () => (await store.countWaiting('deployer', { exactFrom: 10, countMax: 10 })).all;
    expect(await count()).toBe(3);

    await store.changeCommand(beginSending(aCommand({ command_id: 'a' }), NOON_MS));
    expect(await count()).toBe(3);
    await store.changeCommand(leaveLine(aCommand({ command_id: 'b' }), { state: 'cancelled' }, NOON_MS));
    expect(await count()).toBe(2);
  });

  test('counts by the lines themselves at the bound, so that what a crash has left beside them blocks nobody', async () => {
    const { store } = createStore();
    for (const command_id of ['a', 'b', 'c']) await store.addCommand(aCommand({ command_id }));
    const count = () => store.countWaiting('deployer', { exactFrom: 3, countMax: 3 });
    expect(await count()).toEqual({ all: 0, ofCaller: 0 });

    const line = withEntry(withEntry(emptyLine('main', PROJECT_ID), 'a'), 'b');
    await store.changeLine({ ...line, revision: 1 });
    await store.changeLine(withEntry(emptyLine('main', 'quiet-pond-12345678'), 'c', 'another-app'));
    expect(await count()).toEqual({ all: 3, ofCaller: 2 });
  });

  test('that cannot be read is noted with its fields, and nothing of its content', async () => {
    const { table, store, unreadable } = createStore();
    await store.addCommand(aCommand());
    const key = queuedCommandKey('main', 'command-1');
    await table.update({ key, set: { state: 'later', deadline_at_ms: 'soon' } });

    await expect(store.readCommand('command-1')).rejects.toThrow(UnreadableItemError);
    expect(unreadable).toEqual([{ key, fields: ['state', 'deadline_at_ms'] }]);
  });

  test('that cannot be read is left out of a list, and noted', () => {
    const { unreadable } = createStore();
    const good = { pk: 'a', sk: 'b', ...aCommand() };
    const bad = { pk: 'c', sk: 'd', ...aCommand(), answer: { status: 'fine' } };

    const read = readableCommands([bad, good] as never, (item) => unreadable.push(item));

    expect(read).toEqual([aCommand()]);
    expect(unreadable).toEqual([{ key: { pk: 'c', sk: 'd' }, fields: ['answer.status'] }]);
  });
});

describe('a line in the table', () => {
  test('is empty before its first command, and is read as it was written', async () => {
    const { store, lineItem } = createStore();
    const empty = await store.readLine(PROJECT_ID);
    expect(empty).toEqual(emptyLine('main', PROJECT_ID));

    const line = withEntry(empty, 'a');
    expect(await store.changeLine(line)).toBe('written');
    expect(await store.readLine(PROJECT_ID)).toEqual(line);
    expect(lineItem()).toMatchObject({ kind: 'project_line' });
  });

  test('takes the change of one process, not of two', async () => {
    const { store } = createStore();
    const empty = await store.readLine(PROJECT_ID);
    const [mine, theirs] = [withEntry(empty, 'mine'), withEntry(empty, 'theirs')];

    expect(await store.changeLine(theirs)).toBe('written');
    expect(await store.changeLine(mine)).toBe('conflict');
    expect(await store.changeLine(withEntry(theirs, 'mine'))).toBe('written');
    expect(await store.changeLine(withEntry(theirs, 'again'))).toBe('conflict');
  });

  test('is found until it is empty', async () => {
    const { store, lineItem } = createStore();
    const line = withEntry(emptyLine('main', PROJECT_ID), 'a');
    await store.changeLine(line);
    await store.changeLine(withEntry(emptyLine('main', 'quiet-pond-12345678'), 'b'));

    expect(await store.findLines(10)).toEqual([PROJECT_ID, 'quiet-pond-12345678']);
    expect(await store.findLines(1)).toEqual([PROJECT_ID]);
    await store.changeLine(lineWithout(line, 'a') as ProjectLine);
    expect(await store.findLines(10)).toEqual(['quiet-pond-12345678']);
    expect(lineItem()).not.toHaveProperty('work');
  });
});

describe('a freeze in the table', () => {
  test('holds the account until it is lifted, and says who changed it and when', async () => {
    const { table, store } = createStore();
    expect(await store.readFreeze()).toBeUndefined();

    await store.writeFreeze({ is_frozen: true, reason: 'An incident', client_id: 'ops' });
    expect(await store.readFreeze()).toEqual({
      is_frozen: true,
      reason: 'An incident',
      client_id: 'ops',
      changed_at: '2026-01-15T12:00:00.000Z',
    });
    expect(table.sync.peek(freezeKey('main'))).toMatchObject({ kind: 'freeze' });

    await store.writeFreeze({ is_frozen: false, reason: 'It is over', client_id: 'ops' });
    expect(await store.readFreeze()).toBeUndefined();
  });
});

test('the attributes of the queue are those of its three items, each once', () => {
  expect(QUEUE_ATTRIBUTES).toContain('deadline_at_ms');
  expect(QUEUE_ATTRIBUTES).toContain('waiting_for');
  expect(QUEUE_ATTRIBUTES).toContain('is_frozen');
  expect(new Set(QUEUE_ATTRIBUTES).size).toBe(QUEUE_ATTRIBUTES.length);
});
