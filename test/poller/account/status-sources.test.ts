import { describe, expect, test } from 'vitest';
import { rememberProject } from '../../../functions/poller/account/discovery/known-projects.ts';
import { statusSources } from '../../../functions/poller/account/poll-account.ts';
import { NOON_MS } from '../../builders.ts';
import { anInvocation } from './invocation-under-test.ts';

function setUp(...projectIds: readonly string[]) {
  const { memory, leftovers } = anInvocation();
  for (const id of projectIds) rememberProject(memory.projects, id);
  memory.listings.endedAtMs = NOON_MS;
  return { memory, leftovers, sources: statusSources(memory, leftovers, () => undefined) };
}

describe('what the status says of the projects', () => {
  test('is how many are polled, and when the one that was read longest ago was read', () => {
    const { memory, sources } = setUp('a', 'b');
    memory.readings.completedAtMs.set('a', NOON_MS - 2_000);
    memory.readings.completedAtMs.set('b', NOON_MS - 1_000);

    expect(sources.summarise(NOON_MS)).toEqual({
      project_count: 2,
      lastCompleteWalkAtMs: NOON_MS - 2_000,
      unreadSinceMs: NOON_MS - 2_000,
      unread: [],
    });
  });

  test('counts the age of a project that was never read from the first summary on', () => {
    const { sources } = setUp('a');
    sources.summarise(NOON_MS);

    expect(sources.summarise(NOON_MS + 5_000)).toMatchObject({
      lastCompleteWalkAtMs: undefined,
      unreadSinceMs: NOON_MS,
    });
  });

  test('leaves the ages of fixed projects out that are published as unreachable', () => {
    const { memory, sources } = setUp('a', 'gone');
    memory.projects.unreachable.add('gone');
    memory.readings.completedAtMs.set('a', NOON_MS);
    memory.readings.unread.set('gone', { sinceMs: 0, aloneSinceMs: 0, reason: 'timeout' });

    expect(sources.summarise(NOON_MS)).toEqual({
      project_count: 2,
      lastCompleteWalkAtMs: NOON_MS,
      unreadSinceMs: NOON_MS,
      unread: [],
    });
  });

  test('names unread projects that are polled, and before the first listing all that are known', () => {
    const { memory, sources } = setUp('a');
    memory.listings.endedAtMs = undefined;
    for (const id of ['a', 'b'])
      memory.readings.unread.set(id, { sinceMs: NOON_MS, aloneSinceMs: NOON_MS, reason: 'timeout' });
    const namesOf = () => sources.summarise(NOON_MS).unread.map(({ project_id }) => project_id);

    expect(namesOf()).toEqual(['a', 'b']);
    memory.listings.endedAtMs = NOON_MS;
    expect(namesOf()).toEqual(['a']);
  });
});

test('the status knows the oldest entry that the relay has met', () => {
  const { leftovers, sources } = setUp();
  expect(sources.oldestLeftoverAtMs()).toBeUndefined();
  leftovers.oldestAtMs = 17;

  expect(sources.oldestLeftoverAtMs()).toBe(17);
});
