/** Tests how often the API looks whether an account is frozen, and that no command leaves after a freeze was answered. */

import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createFreezeWatch, freezeAccount, UNFROZEN_MS } from '../../functions/api/upstream/account-queue.ts';
import type { QueueStore } from '../../shared/commands/queue-store.ts';
import { createQueueStore } from '../../shared/commands/queue-store.ts';
import { aClock, only } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { ACCOUNT_ID } from './api-under-test.ts';
import { stoppedClock } from './stopped-clock.ts';

const FREEZE = { reason: 'An incident.', client_id: 'ops' };

/** Two processes of the API over one table. */
function setUp() {
  const { clock, pass } = stoppedClock();
  const table = createMemoryTable().as('api');
  const store = createQueueStore(table, ACCOUNT_ID, { clock, noteUnreadable: () => {}, newId: randomUUID });
  let readCount = 0;
  const counted = only<QueueStore>({
    readFreeze: () => {
      readCount += 1;
      return store.readFreeze();
    },
  });
  const [here, there] = [createFreezeWatch(counted, clock), createFreezeWatch(counted, clock)];
  const freeze = () => freezeAccount({ store, freeze: here }, FREEZE, clock);
  const lift = () => store.writeFreeze({ ...FREEZE, is_frozen: false });
  return { here, there, freeze, lift, pass, clock, reads: () => readCount };
}

describe('the look whether an account is frozen', () => {
  test('is shared by the commands of half a second while the account is not frozen', async () => {
    const { here, pass, reads } = setUp();

    await here.read();
    await pass(UNFROZEN_MS - 1);
    await here.read();
    expect(reads()).toBe(1);
    await pass(1);
    await here.read();

    expect(reads()).toBe(2);
  });

  test('finds a freeze at once in the process that made it', async () => {
    const { here, freeze, pass } = setUp();
    await here.read();

    const freezing = freeze();
    await new Promise((resolve) => setImmediate(resolve));

    expect(await here.read()).toMatchObject(FREEZE);
    await pass(UNFROZEN_MS);
    await freezing;
  });

  test('finds it in every other process before the call that made it is answered', async () => {
    const { there, freeze, pass } = setUp();
    await there.read();
    const freezing = freeze();
    const answered = freezing.then(() => there.read());
    await new Promise((resolve) => setImmediate(resolve));

    expect(await there.read()).toBeUndefined();
    await pass(UNFROZEN_MS);

    expect(await answered).toMatchObject(FREEZE);
  });

  test('is made anew for each command of a frozen account, so that a lifted freeze ends at once', async () => {
    const { here, freeze, lift, pass } = setUp();
    const freezing = freeze();
    await new Promise((resolve) => setImmediate(resolve));
    await pass(UNFROZEN_MS);
    await freezing;

    expect(await here.read()).toMatchObject(FREEZE);
    await lift();

    expect(await here.read()).toBeUndefined();
  });

  test('counts for nothing when it began before this process froze the account', async () => {
    const { clock } = stoppedClock();
    const answers = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    let readCount = 0;
    const watch = createFreezeWatch(
      only({ readFreeze: () => answers[readCount++]?.promise ?? Promise.reject() }),
      clock,
    );

    const before = watch.read();
    watch.forget();
    answers[0]?.resolve(undefined);
    await before;
    const after = watch.read();
    answers[1]?.resolve(undefined);
    await after;

    expect(readCount).toBe(2);
  });

  test('is made anew when the clock of the machine was set back', async () => {
    let nowMs = 10_000_000;
    let readCount = 0;
    const store = {
      readFreeze: async () => {
        readCount += 1;
        return undefined;
      },
    };
    const watch = createFreezeWatch(
      only(store),
      aClock(() => nowMs),
    );

    await watch.read();
    nowMs -= 3_600_000;
    await watch.read();

    expect(readCount).toBe(2);
  });
});
