import { describe, expect, test } from 'vitest';
import { discoverRepeatedly } from '../../../functions/poller/account/discovery/project-list.ts';
import { NOON_MS } from '../../builders.ts';
import { anInvocation, named } from './invocation-under-test.ts';

/** Looks `lookCount` times, and then stops. It calls `between` after each look. */
function setUp(lookCount: number, between: (count: number) => void = () => {}) {
  const world = anInvocation();
  const { deps, memory, discovery, stop, hooks, sleeps } = world;
  hooks.onSleep = () => {
    between(sleeps.length);
    if (sleeps.length >= lookCount) stop.abort();
  };
  return { ...world, discover: () => discoverRepeatedly(deps, memory, discovery) };
}

describe('the discovery of projects', () => {
  test('reads the list at once, and then looks every five seconds whether it is needed again', async () => {
    const { discover, script, listCalls, sleeps, memory } = setUp(3);
    script.pages = { '': { projects: named('a') } };
    await discover();

    expect(sleeps).toEqual([5_000, 5_000, 5_000]);
    expect(listCalls).toHaveLength(1);
    expect(memory.health.answeredAtMs).toBe(NOON_MS);
  });

  test('tries a first listing that has failed again five seconds later, and logs the failure', async () => {
    const world = setUp(2, () => {
      world.script.pages = {};
    });
    world.script.pages = { '': 'unavailable' };
    await world.discover();

    expect(world.listCalls).toHaveLength(2);
    expect(world.logs[0]).toMatchObject({ event: 'poll.failed', reason: 'UpstreamError' });
    expect(world.memory.listings.endedAtMs).toBe(NOON_MS + 5_000);
  });

  test('waits while the key is refused', async () => {
    const world = setUp(2);
    world.memory.health.isKeyRejected = true;
    await world.discover();

    expect(world.listCalls).toEqual([]);
  });

  test('publishes the recovery of an account whose key is valid again', async () => {
    const world = setUp(1);
    await world.know();
    const account = await world.store.readAccount();
    if (account === undefined) throw new Error('The account is not stored');
    await world.store.record({ ...account, degraded_reason: 'key_rejected' }, account.revision);
    world.memory.health.isDegraded = true;
    await world.discover();

    expect(world.takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('does nothing in an invocation that has stopped', async () => {
    const world = setUp(1);
    world.stop.abort();
    await world.discover();

    expect([world.listCalls, world.sleeps]).toEqual([[], []]);
  });
});
