/** Tests what the queue of commands needs of a table, whatever it is made of. The same suite runs on every implementation. */

import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createQueueStore, REQUEST_BYTES_MAX } from '../../shared/commands/queue-store.ts';
import {
  beginSending,
  emptyLine,
  leaveLine,
  lineHeldBy,
  lineWith,
  lineWithout,
  type QueuedCommand,
  returnToLine,
} from '../../shared/commands/queued-command.ts';
import { queuedCommandKey } from '../../shared/store/keys.ts';
import type { Table } from '../../shared/store/table.ts';
import { aClock, NOON_MS } from '../builders.ts';
import { aQueuedCommand } from './every-queue-item.ts';

const PROJECT_ID = 'quiet-pond-12345678';

/** The account is new for every test, so that one table serves them all. */
export function describeQueue(name: string, open: () => Table): void {
  let testCount = 0;
  const fresh = () => {
    testCount += 1;
    const accountId = `queue-${testCount}`;
    const table = open();
    const unreadable: unknown[] = [];
    const clock = aClock();
    const store = createQueueStore(table, accountId, {
      clock,
      noteUnreadable: (item) => unreadable.push(item),
      newId: randomUUID,
    });
    const command = (fields: Partial<QueuedCommand> = {}) =>
      aQueuedCommand({ account_id: accountId, ...fields });
    return { store, table, accountId, unreadable, command };
  };
  const entryOf = ({ command_id, deadline_at_ms, client_id }: QueuedCommand) => ({
    command_id,
    deadline_at_ms,
    client_id,
  });

  describe(`the queue on ${name}`, () => {
    test('gives back a command as it was added, and nothing where none was', async () => {
      const { store, command } = fresh();

      expect(await store.addCommand(command())).toBe('written');
      expect(await store.readCommand(command().command_id)).toEqual(command());
      expect(await store.readCommand('another')).toBeUndefined();
    });

    test('keeps a request of the largest size', async () => {
      const { store, command } = fresh();
      const large = command({ request: 'x'.repeat(Math.ceil((REQUEST_BYTES_MAX * 4) / 3) + 100) });

      expect(await store.addCommand(large)).toBe('written');
      expect(await store.readCommand(large.command_id)).toEqual(large);
    });

    test('adds a command once', async () => {
      const { store, command } = fresh();
      await store.addCommand(command());

      expect(await store.addCommand(command({ call: 'startEndpoint' }))).toBe('conflict');
      expect((await store.readCommand(command().command_id))?.call).toBe('restartEndpoint');
    });

    test('lets one of fifty workers take the next step of a command', async () => {
      const { store, command } = fresh();
      await store.addCommand(command());
      const sending = beginSending(command(), NOON_MS);

      const results = await Promise.all(Array.from({ length: 50 }, () => store.changeCommand(sending)));

      expect(results.filter((result) => result === 'written')).toHaveLength(1);
      expect(await store.readCommand(sending.command_id)).toEqual(sending);
    });

    test('lets either the worker send a command or a caller cancel it', async () => {
      const { store, command } = fresh();
      await store.addCommand(command());
      const cancelled = leaveLine(command(), { state: 'cancelled' }, NOON_MS);

      expect(await store.changeCommand(beginSending(command(), NOON_MS))).toBe('written');
      expect(await store.changeCommand(cancelled)).toBe('conflict');
    });

    test('deletes what a command no longer has', async () => {
      const { store, table, accountId, command } = fresh();
      const key = queuedCommandKey(accountId, command().command_id);
      await store.addCommand(command());
      const sending = beginSending(command(), NOON_MS);
      await store.changeCommand(sending);

      await store.changeCommand(returnToLine(sending));
      expect(await table.get(key)).not.toHaveProperty('sent_until_ms');

      const left = leaveLine(returnToLine(sending), { state: 'refused', answer: { status: 404 } }, NOON_MS);
      expect(await store.changeCommand(left)).toBe('written');
      expect(await table.get(key)).not.toHaveProperty('request');
      expect(await store.readCommand(left.command_id)).toEqual(left);
    });

    test('counts the commands in line, and by the lines from the bound on', async () => {
      const { store, command } = fresh();
      const commands = ['a', 'b', 'c'].map((command_id) => command({ command_id }));
      for (const each of commands) await store.addCommand(each);
      const line = commands.reduce(
        (before, each) => {
          const next = lineWith(before, entryOf(each));
          return next === undefined || typeof next === 'string' ? before : next;
        },
        emptyLine(command().account_id, PROJECT_ID),
      );
      // The store writes one step at a time, and this test needs the last one only.
      await store.changeLine({ ...line, revision: 1 });

      const count = async (exactFrom: number) =>
        (await store.countWaiting(command().client_id, { exactFrom, countMax: 10 })).all;
      expect([await count(10), await count(2)]).toEqual([3, 3]);
      await store.changeCommand(leaveLine(command({ command_id: 'a' }), { state: 'expired' }, NOON_MS));
      expect(await count(10)).toBe(2);
    });

    test('counts at the bound only what stands in lines', async () => {
      const { store, command } = fresh();
      for (const command_id of ['a', 'b', 'c']) await store.addCommand(command({ command_id }));

      const counted = await store.countWaiting(command().client_id, { exactFrom: 3, countMax: 3 });
      expect(counted).toEqual({ all: 0, ofCaller: 0 });
    });

    test('has an empty line where none was written', async () => {
      const { store, accountId } = fresh();

      expect(await store.readLine(PROJECT_ID)).toEqual(emptyLine(accountId, PROJECT_ID));
      expect(await store.findLines(10)).toEqual([]);
    });

    test('finds a line while it has commands', async () => {
      const { store, accountId, command } = fresh();
      const joined = lineWith(emptyLine(accountId, PROJECT_ID), entryOf(command()));
      if (joined === undefined || typeof joined === 'string') throw new Error('The line took no command');
      await store.changeLine(joined);

      expect(await store.readLine(PROJECT_ID)).toEqual(joined);
      expect(await store.findLines(10)).toEqual([PROJECT_ID]);
      const left = lineWithout(joined, command().command_id, ['an-operation']);
      expect(left && (await store.changeLine(left))).toBe('written');
      expect(await store.findLines(10)).toEqual([]);
      expect((await store.readLine(PROJECT_ID)).waiting_for).toEqual(['an-operation']);
    });

    test('lets one of fifty change a line that each has read', async () => {
      const { store, accountId, command } = fresh();
      const empty = emptyLine(accountId, PROJECT_ID);
      const joins = Array.from({ length: 50 }, (_, place) =>
        lineWith(empty, entryOf(command({ command_id: `c-${place}` }))),
      );

      const results = await Promise.all(
        joins.map(async (next) =>
          next === undefined || typeof next === 'string' ? 'no line' : store.changeLine(next),
        ),
      );

      expect(results.filter((result) => result === 'written')).toHaveLength(1);
      expect(results.filter((result) => result === 'conflict')).toHaveLength(49);
    });

    test('keeps what a line waits for', async () => {
      const { store, accountId } = fresh();
      const held = lineHeldBy(emptyLine(accountId, PROJECT_ID), {
        waiting_for: ['a', 'b'],
        not_before_ms: 5,
      });

      expect(held && (await store.changeLine(held))).toBe('written');
      expect(await store.readLine(PROJECT_ID)).toMatchObject({ waiting_for: ['a', 'b'], not_before_ms: 5 });
    });

    test('says that an account is frozen until the freeze is lifted', async () => {
      const { store } = fresh();
      expect(await store.readFreeze()).toBeUndefined();

      await store.writeFreeze({ is_frozen: true, reason: 'A change window.', client_id: 'an-app' });
      expect(await store.readFreeze()).toEqual({
        is_frozen: true,
        reason: 'A change window.',
        client_id: 'an-app',
        changed_at: new Date(NOON_MS).toISOString(),
      });

      await store.writeFreeze({ is_frozen: false, reason: '', client_id: 'an-app' });
      expect(await store.readFreeze()).toBeUndefined();
    });

    test('refuses an item that it cannot read by name, and notes it', async () => {
      const { store, table, accountId, unreadable, command } = fresh();
      await store.addCommand(command());
      const key = queuedCommandKey(accountId, command().command_id);
      await table.update({ key, set: { state: 'of a later version' } });

      await expect(store.readCommand(command().command_id)).rejects.toThrow('look at: state');
      expect(unreadable).toEqual([{ key, fields: ['state'] }]);
    });
  });
}
