import { describe, expect, test, vi } from 'vitest';
import {
  failingMs,
  markFailed,
  publishHealthAtEnd,
  publishRecovery,
  publishRejectedKey,
  readHealth,
  shownByList,
  troubleOf,
  unknownHealth,
} from '../../../../functions/poller/account/status/publish-health.ts';
import { PENDING_ENTRIES_MAX } from '../../../../shared/records/journal.ts';
import { accountKey } from '../../../../shared/store/keys.ts';
import { only } from '../../../builders.ts';
import { anInvocation } from '../invocation-under-test.ts';

const FAILING_MS = 180_000;

async function account() {
  const world = anInvocation();
  await world.know();
  return { ...world, health: world.memory.health };
}

/** Describes an invocation that ends in time. */
const ended = (pollCount: number) => ({ pollCount, overAtMs: Number.POSITIVE_INFINITY });

describe('the trouble of an account', () => {
  test('is none while its key is good and polls succeed or have failed for less than three minutes', async () => {
    const { deps, health, nowMs } = await account();
    expect(troubleOf(deps, health)).toBeUndefined();
    markFailed(health, nowMs() - FAILING_MS + 1);
    expect(troubleOf(deps, health)).toBeUndefined();
  });

  test.each([
    ['key_rejected', { isReadable: true, isKeyRejected: true, failedForMs: 0 }],
    ['upstream_failing', { isReadable: true, isKeyRejected: false, failedForMs: FAILING_MS }],
    ['key_unreadable', { isReadable: false, isKeyRejected: false, failedForMs: FAILING_MS }],
  ])('is %s', async (trouble, { isReadable, isKeyRejected, failedForMs }) => {
    const { deps, health, nowMs } = await account();
    health.isKeyRejected = isKeyRejected;
    if (failedForMs > 0) markFailed(health, nowMs() - failedForMs);

    expect(troubleOf({ ...deps, key: only({ isReadable: () => isReadable }) }, health)).toBe(trouble);
  });
});

describe('the health of an account', () => {
  test('is published once as degraded when the key is refused', async () => {
    const { deps, health, takeEvents, storedAccount } = await account();
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([['Account Degraded', 'key_rejected']]);
    expect(health.isDegraded).toBe(true);
    expect(storedAccount()).toMatchObject({ degraded_reason: 'key_rejected' });
  });

  test('is published as degraded after three minutes without a good poll, and not before', async () => {
    const { deps, health, takeEvents, pass, nowMs } = await account();
    health.failingSinceMs = nowMs();
    pass(FAILING_MS - 1);
    await publishHealthAtEnd(deps, health, ended(0));
    expect(takeEvents()).toEqual([]);
    pass(1);
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([['Account Degraded', 'upstream_failing']]);
  });

  test('is left to the next invocation by one that ends later than it could, because its process was frozen', async () => {
    const { deps, health, takeEvents, pass, nowMs } = await account();
    health.failingSinceMs = nowMs();
    const overAtMs = nowMs() + FAILING_MS;
    pass(FAILING_MS + 1);
    await publishHealthAtEnd(deps, health, { pollCount: 1, overAtMs });
    expect(takeEvents()).toEqual([]);
    await publishHealthAtEnd(deps, health, { pollCount: 1, overAtMs: nowMs() });

    expect(takeEvents()).toEqual([['Account Degraded', 'upstream_failing']]);
  });

  test('is published as recovered with the first poll that succeeds', async () => {
    const { deps, health, takeEvents, pass, nowMs, storedAccount } = await account();
    health.failingSinceMs = nowMs();
    pass(FAILING_MS);
    await publishHealthAtEnd(deps, health, ended(0));
    takeEvents();
    await publishRecovery(deps, health, 'poll');
    await publishRecovery(deps, health, 'poll');

    expect(takeEvents()).toEqual([['Account Recovered', 'upstream_failing']]);
    expect(health.isDegraded).toBe(false);
    expect(storedAccount()).not.toHaveProperty('degraded_reason');
  });

  test('is not recovered by the project list, which says nothing of operations', async () => {
    const { deps, health, takeEvents, pass, nowMs } = await account();
    health.failingSinceMs = nowMs();
    pass(FAILING_MS);
    await publishHealthAtEnd(deps, health, ended(0));
    takeEvents();
    await publishRecovery(deps, health, 'list');

    expect(takeEvents()).toEqual([]);
    expect(health.isDegraded).toBe(true);
    expect(health.failingSinceMs).toBeDefined();
  });

  test('is recovered by the project list after a refused key: any answer shows that the key is valid', async () => {
    const { deps, health, takeEvents } = await account();
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));
    takeEvents();
    health.isKeyRejected = false;
    await publishRecovery(deps, health, 'list');

    expect(takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('of an account that was well and is well needs no call of the table at the end', async () => {
    const { deps, health } = await account();
    await readHealth(deps, health);
    const readAccount = vi.fn(() => deps.store.readAccount());
    await publishHealthAtEnd({ ...deps, store: { ...deps.store, readAccount } }, health, ended(1));

    expect(readAccount).not.toHaveBeenCalled();
  });

  test.each([
    ['the table does not answer', async () => Promise.reject(new Error('busy'))],
    ['another process has written the item', async () => 'conflict' as const],
  ])('is published as recovered by a later poll when %s', async (_, record) => {
    const { deps, health, takeEvents } = await account();
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));
    takeEvents();
    health.isKeyRejected = false;
    const failing = { ...deps, store: { ...deps.store, record } };
    await publishRecovery(failing, health, 'poll').catch(() => {});
    expect(takeEvents()).toEqual([]);
    await publishRecovery(deps, health, 'poll');

    expect(takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('is left as it is by an invocation that has polled nothing', async () => {
    const { deps, health, takeEvents } = await account();
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));
    takeEvents();
    health.isKeyRejected = false;
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([]);
  });

  test('is left as it is by an invocation whose polls have failed for less than three minutes', async () => {
    const { deps, health, takeEvents, pass, nowMs } = await account();
    markFailed(health, nowMs());
    pass(FAILING_MS);
    await publishHealthAtEnd(deps, health, ended(1));
    takeEvents();
    const another = unknownHealth();
    await readHealth(deps, another);
    markFailed(another, nowMs());
    await publishHealthAtEnd(deps, another, ended(1));

    expect(takeEvents()).toEqual([]);
    expect(another.isDegraded).toBe(true);
  });

  test('is published as recovered at the end of an invocation whose polls went well', async () => {
    const { deps, health, takeEvents } = await account();
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));
    takeEvents();
    health.isKeyRejected = false;
    await publishHealthAtEnd(deps, health, ended(1));

    expect(takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('costs no call of the table while an account that is well goes on being well', async () => {
    const { deps, health } = await account();
    deps.store.readAccount = () => Promise.reject(new Error('the table must not be asked'));
    await publishRecovery(deps, health, 'poll');

    expect(health.answeredAtMs).toBeDefined();
  });

  test('is not published while the item of the account cannot be read', async () => {
    const { deps, health, table, takeEvents } = await account();
    table.sync.update({ key: accountKey('main'), set: { boot_at: 17 } });
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([]);
    expect(health.isDegraded).toBe(false);
  });

  test('waits while the journal of the account is full', async () => {
    const { deps, health, takeEvents, storedAccount } = await account();
    deps.bus.publish = async (events) => events.map(() => ({ kind: 'retry', code: 'down' }));
    for (let count = 0; count <= PENDING_ENTRIES_MAX; count++) {
      health.isKeyRejected = count % 2 === 0;
      await publishHealthAtEnd(deps, health, ended(1));
    }

    expect(takeEvents()).toEqual([]);
    expect(storedAccount()).toMatchObject({ revision: PENDING_ENTRIES_MAX });
  });

  test('that another process publishes at this moment is not published twice', async () => {
    const { deps, health, takeEvents } = await account();
    deps.store.record = async () => 'conflict';
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([]);
  });

  test('of an account that is not recorded is not published', async () => {
    const { deps, memory, takeEvents } = anInvocation();
    const { health } = memory;
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([]);
  });

  test('is published as recovered from a refused key when polls are tried again, even if they fail at first', async () => {
    const { deps, health, takeEvents, nowMs } = await account();
    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));
    takeEvents();
    health.isKeyRejected = false;
    health.failingSinceMs = nowMs();
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('is known to a new process from the item of the account', async () => {
    const { deps, health } = await account();
    const fresh = unknownHealth();
    await readHealth(deps, fresh);
    expect(fresh.isDegraded).toBe(false);

    health.isKeyRejected = true;
    await publishHealthAtEnd(deps, health, ended(0));
    await readHealth(deps, fresh);

    expect(fresh.isDegraded).toBe(true);
  });

  test('that cannot be published now is left to the next invocation, at the cost of one read', async () => {
    const { deps, health, table } = await account();
    health.isDegraded = true;
    table.sync.update({ key: accountKey('main'), set: { boot_at: 17 } });
    const readAccount = deps.store.readAccount.bind(deps.store);
    let readCount = 0;
    deps.store.readAccount = () => {
      readCount += 1;
      return readAccount();
    };

    await publishRecovery(deps, health, 'poll');
    await publishRecovery(deps, health, 'poll');

    expect(readCount).toBe(1);
  });

  test('is failing since the first poll that failed, and not at all after one that succeeded', () => {
    expect(failingMs({ ...unknownHealth(), failingSinceMs: 1_000 }, 4_000)).toBe(3_000);
    expect(failingMs(unknownHealth(), 4_000)).toBe(0);
  });

  test('is shown by the project list only when there is no project to poll', () => {
    expect(shownByList({ memories: new Map() })).toBe('poll');
    expect(shownByList({ memories: new Map([['a', 'a memory']]) })).toBe('list');
  });
});

describe('a key that the upstream refuses', () => {
  test('is logged and published once', async () => {
    const { deps, health, takeEvents, logs } = await account();

    await publishRejectedKey(deps, health);
    await publishRejectedKey(deps, health);

    expect(takeEvents()).toEqual([['Account Degraded', 'key_rejected']]);
    expect(logs).toEqual([
      {
        level: 'error',
        event: 'key.rejected',
        account_id: 'main',
        advice: expect.stringContaining('Put a valid key into the secret'),
      },
    ]);
  });

  test('is published by the end of the invocation when the table did not answer at first', async () => {
    const { deps, health, takeEvents, logs } = await account();
    const readAccount = deps.store.readAccount.bind(deps.store);
    deps.store.readAccount = () => Promise.reject(new RangeError('busy'));

    await publishRejectedKey(deps, health);
    expect(logs).toContainEqual({ level: 'warn', event: 'health.not_published', reason: 'RangeError' });
    deps.store.readAccount = readAccount;
    await publishHealthAtEnd(deps, health, ended(0));

    expect(takeEvents()).toEqual([['Account Degraded', 'key_rejected']]);
  });
});
