import { describe, expect, test } from 'vitest';
import { noteGoodAnswer, noteHealth } from '../../../functions/poller/account/account-health.ts';
import { PENDING_ENTRIES_MAX } from '../../../shared/core/records/journal.ts';
import { accountKey } from '../../../shared/store/keys.ts';
import { aRun } from './run-under-test.ts';

const FAILING_MS = 180_000;

async function account() {
  const world = aRun();
  await world.know();
  return world;
}

describe('the health of an account', () => {
  test('is told once as degraded when the key is refused', async () => {
    const { run, takeEvents, storedAccount } = await account();
    run.memory.isKeyRejected = true;
    await noteHealth(run);
    await noteHealth(run);

    expect(takeEvents()).toEqual([['Account Degraded', 'key_rejected']]);
    expect(run.isDegraded).toBe(true);
    expect(storedAccount()).toMatchObject({ degraded_reason: 'key_rejected' });
  });

  test('is told as degraded after three minutes without a good poll, and not before', async () => {
    const { run, takeEvents, pass, nowMs } = await account();
    run.memory.failingSinceMs = nowMs();
    pass(FAILING_MS - 1);
    await noteHealth(run);
    expect(takeEvents()).toEqual([]);
    pass(1);
    await noteHealth(run);

    expect(takeEvents()).toEqual([['Account Degraded', 'upstream_failing']]);
  });

  test('is told as recovered once a poll succeeds, at once', async () => {
    const { run, takeEvents, pass, nowMs, storedAccount } = await account();
    run.memory.failingSinceMs = nowMs();
    pass(FAILING_MS);
    await noteHealth(run);
    takeEvents();
    await noteGoodAnswer(run, 'poll');
    await noteGoodAnswer(run, 'poll');

    expect(takeEvents()).toEqual([['Account Recovered', 'upstream_failing']]);
    expect(run.isDegraded).toBe(false);
    expect(storedAccount()).not.toHaveProperty('degraded_reason');
  });

  test('is not recovered by the project list: that says nothing of operations', async () => {
    const { run, takeEvents, pass, nowMs } = await account();
    run.memory.failingSinceMs = nowMs();
    pass(FAILING_MS);
    await noteHealth(run);
    takeEvents();
    await noteGoodAnswer(run, 'list');

    expect(takeEvents()).toEqual([]);
    expect(run.isDegraded).toBe(true);
    expect(run.memory.failingSinceMs).toBeDefined();
  });

  test('is recovered by the project list after a refused key: any answer shows that the key is valid', async () => {
    const { run, takeEvents } = await account();
    run.memory.isKeyRejected = true;
    await noteHealth(run);
    takeEvents();
    run.memory.isKeyRejected = false;
    await noteGoodAnswer(run, 'list');

    expect(takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('is left as it is by an invocation that has polled nothing', async () => {
    const { run, newRun, takeEvents } = await account();
    run.memory.isKeyRejected = true;
    await noteHealth(run);
    takeEvents();
    await noteHealth(newRun());

    expect(takeEvents()).toEqual([]);
  });

  test('is told as recovered at the end of an invocation whose polls went well', async () => {
    const { run, newRun, takeEvents } = await account();
    run.memory.isKeyRejected = true;
    await noteHealth(run);
    takeEvents();
    await noteHealth({ ...newRun(), pollCount: 1 });

    expect(takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('costs no call of the table while an account that is well goes on being well', async () => {
    const { run, deps } = await account();
    deps.store.readAccount = () => Promise.reject(new Error('nobody should ask'));
    await noteGoodAnswer(run, 'poll');

    expect(run.memory.answeredAtMs).toBeDefined();
  });

  test('cannot be told while the item of the account cannot be read', async () => {
    const { run, table, takeEvents } = await account();
    table.sync.update({ key: accountKey('main'), set: { boot_at: 17 } });
    run.memory.isKeyRejected = true;
    await noteHealth(run);

    expect(takeEvents()).toEqual([]);
    expect(run.isDegraded).toBe(false);
  });

  test('waits while the journal of the account is full', async () => {
    const { run, deps, takeEvents, storedAccount } = await account();
    deps.bus.publish = async (events) => events.map(() => ({ kind: 'retry', code: 'down' }));
    for (let count = 0; count <= PENDING_ENTRIES_MAX; count++) {
      run.memory.isKeyRejected = count % 2 === 0;
      run.pollCount = 1;
      await noteHealth(run);
    }

    expect(takeEvents()).toEqual([]);
    expect(storedAccount()).toMatchObject({ revision: PENDING_ENTRIES_MAX });
  });

  test('that another process tells of at this moment is not told twice', async () => {
    const { run, deps, takeEvents } = await account();
    deps.store.record = async () => 'conflict';
    run.memory.isKeyRejected = true;
    await noteHealth(run);

    expect(takeEvents()).toEqual([]);
  });

  test('of an account that nobody has recorded is told to nobody', async () => {
    const { run, takeEvents } = aRun();
    run.memory.isKeyRejected = true;
    await noteHealth(run);

    expect(takeEvents()).toEqual([]);
  });
});
