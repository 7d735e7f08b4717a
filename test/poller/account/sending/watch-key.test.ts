import { describe, expect, test } from 'vitest';
import { watchKey } from '../../../../functions/poller/account/account-key.ts';
import { publishRejectedKey } from '../../../../functions/poller/account/status/publish-health.ts';
import { anInvocation } from '../invocation-under-test.ts';

/** Lets the loop sleep `count` times, and then stops the invocation. */
function stopAfter({ stop, hooks, sleeps }: ReturnType<typeof anInvocation>, count: number) {
  hooks.onSleep = () => {
    if (sleeps.length >= count) stop.abort();
  };
}

describe('a key that the upstream refuses', () => {
  test('is logged once, with what to do about it', async () => {
    const { deps, memory, logs } = anInvocation();
    await publishRejectedKey(deps, memory.health);
    await publishRejectedKey(deps, memory.health);

    expect(logs).toMatchObject([{ level: 'error', event: 'key.rejected', account_id: 'main' }]);
    expect(logs[0]?.['advice']).toMatch(/Put a valid key into the secret/);
    expect(memory.health.isKeyRejected).toBe(true);
  });

  test('is looked at every five seconds, and the account goes on with another one', async () => {
    const world = anInvocation();
    const { deps, memory, sleeps } = world;
    let looks = 0;
    Object.assign(deps.key, { hasAnother: async () => ++looks === 3 });
    memory.health.isKeyRejected = true;
    stopAfter(world, 5);
    await watchKey(deps, memory.health);

    expect(sleeps).toEqual([5_000, 5_000, 5_000, 5_000, 5_000]);
    expect([memory.health.isKeyRejected, looks]).toEqual([false, 3]);
  });

  test('whose secret cannot be read stays refused', async () => {
    const world = anInvocation();
    Object.assign(world.deps.key, { hasAnother: () => Promise.reject(new Error('busy')) });
    world.memory.health.isKeyRejected = true;
    stopAfter(world, 2);
    await watchKey(world.deps, world.memory.health);

    expect(world.memory.health.isKeyRejected).toBe(true);
  });

  test('is not looked at while it is valid: a look costs money', async () => {
    const world = anInvocation();
    Object.assign(world.deps.key, {
      hasAnother: () => {
        throw new Error('the secret must not be read');
      },
    });
    stopAfter(world, 2);
    await watchKey(world.deps, world.memory.health);

    expect(world.sleeps).toHaveLength(2);
  });
});
