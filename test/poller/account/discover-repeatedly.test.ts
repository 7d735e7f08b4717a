import { describe, expect, test } from 'vitest';
import { discoverRepeatedly } from '../../../functions/poller/account/discovery/project-list.ts';
import { anInvocation, named } from './invocation-under-test.ts';

/** Looks `lookCount` times, and then stops. It calls `between` after each look. */
function setUp(
  lookCount: number,
  between: (count: number) => void = () => {},
  fixedProjectIds?: readonly string[],
) {
  const world = anInvocation({ fixedProjectIds });
  const { deps, memory, discovery, stop, hooks, sleeps } = world;
  hooks.onSleep = () => {
    between(sleeps.length);
    if (sleeps.length >= lookCount) stop.abort();
  };
  return { ...world, discover: () => discoverRepeatedly(deps, memory, discovery) };
}

describe('the discovery of projects', () => {
  test('asks for a first listing, and reads nothing itself', async () => {
    const { discover, begin, script, listCalls, sleeps, memory } = setUp(3);
    script.pages = { '': { projects: named('a') } };
    await discover();
    expect([listCalls, sleeps]).toEqual([[], [5_000, 5_000, 5_000]]);
    await begin().readDuePages();

    expect(listCalls).toHaveLength(1);
    expect([...memory.projects.memories.keys()]).toEqual(['a']);
  });

  test('tries again five seconds later to take the projects that the configuration names, and logs the failure', async () => {
    const world = setUp(3, () => {
      world.script.operations = {};
    }, ['a']);
    world.script.operations = { a: 'unavailable' };
    await world.discover();

    expect(world.operationCalls).toEqual(['a', 'a']);
    expect(world.logs[0]).toMatchObject({ event: 'poll.failed', reason: 'UpstreamError' });
    expect(world.memory.listings.hasEnded).toBe(true);
  });

  test('records the end of a listing that the table has refused, with the next look and not with the next listing', async () => {
    const world = setUp(1);
    const { store, memory, discover, list } = world;
    world.script.pages = { '': { projects: named('a') } };
    const noteListed = store.noteListed.bind(store);
    Object.assign(store, { noteListed: () => Promise.reject(new Error('throttled')) });
    await expect(list()).rejects.toThrow('throttled');
    expect(memory.listings).toMatchObject({ hasEnded: false, hasReadWholeList: false, count: 1 });
    Object.assign(store, { noteListed });
    await discover();

    expect(world.listCalls).toHaveLength(1);
    expect(memory.listings).toMatchObject({ hasEnded: true, hasReadWholeList: true, count: 1 });
  });

  test('waits while the key is refused', async () => {
    const world = setUp(2, undefined, ['a']);
    world.memory.health.isKeyRejected = true;
    await world.discover();

    expect(world.operationCalls).toEqual([]);
  });

  test('publishes the recovery of an account whose key is valid again', async () => {
    const world = setUp(1, undefined, []);
    await world.know();
    const account = await world.store.readAccount();
    if (account === undefined) throw new Error('The account is not stored');
    await world.store.record({ ...account, degraded_reason: 'key_rejected' }, account.revision);
    world.memory.health.isDegraded = true;
    await world.discover();

    expect(world.takeEvents()).toEqual([['Account Recovered', 'key_rejected']]);
  });

  test('does nothing in an invocation that has stopped', async () => {
    const world = setUp(1, undefined, ['a']);
    world.stop.abort();
    await world.discover();

    expect([world.operationCalls, world.sleeps]).toEqual([[], []]);
  });
});
