import { describe, expect, test } from 'vitest';
import {
  noteAnswer,
  noteNotRead,
  noteRead,
  oldestReadingMs,
  recallUnread,
  UNREACHABLE_AFTER_MS,
  unreadProjects,
} from '../../../functions/poller/account/note-reading.ts';
import { emptyMemory } from '../../../functions/poller/project/poll.ts';
import type { PollReport } from '../../../functions/poller/project/poll-project.ts';
import type { AccountStatus } from '../../../shared/core/records/account-status.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import { UnreadableItemError } from '../../../shared/store/unreadable.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../builders.ts';
import { aRun } from './run-under-test.ts';

const MINUTE_MS = 60_000;

const failed = (failure: UpstreamErrorKind | undefined) => ({ report: { failure } as PollReport });

async function account(...ids: readonly string[]) {
  const world = aRun();
  for (const id of ids) {
    world.run.memory.projects.set(id, emptyMemory());
    await world.store.record(record(id), undefined);
  }
  /** Once a minute; the others are answered meanwhile. */
  const failFor = async (id: string, minutes: number, why: Parameters<typeof noteNotRead>[2]) => {
    for (let minute = 0; minute <= minutes; minute++) {
      if (minute > 0) world.pass(MINUTE_MS);
      noteAnswer(world.run);
      await noteNotRead(world.run, id, why);
    }
  };
  return { ...world, failFor };
}

const record = (project_id: string, fields: Partial<ProjectRecord> = {}): ProjectRecord => ({
  kind: 'project',
  account_id: 'main',
  project_id,
  is_visible: true,
  revision: 0,
  published: 0,
  entries: [],
  ...fields,
});

describe('a project that cannot be read while others are', () => {
  test('is announced as unreachable after ten minutes, once', async () => {
    const { failFor, takeEvents, storedProject } = await account('a', 'b');
    await failFor('a', 9, failed('unavailable'));
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, failed('unavailable'));
    await failFor('a', 60, failed('unavailable'));

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
    expect(storedProject('a')).toMatchObject({ is_visible: false, is_unread: true });
  });

  test.each([
    ['a mistake of ours', { error: new TypeError('undefined is not a function') }, 'failed'],
    ['an upstream that refuses', { error: upstreamError('forbidden') }, 'forbidden'],
  ])('is announced for %s, too', async (_what, why, reason) => {
    const { run, failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 10, why);

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
    expect(run.memory.unread.get('a')?.reason).toBe(reason);
  });

  test.each([
    ['its first reading goes on', failed(undefined), 'unfinished'],
    ['it answers 404, which others judge', failed('not_found'), 'not_found'],
    [
      'its item cannot be read',
      { error: new UnreadableItemError({ key: { pk: 'p', sk: 's' }, fields: [] }) },
      'item_unreadable',
    ],
  ])('is not announced when %s', async (_what, why, reason) => {
    const { run, failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 60, why);

    expect(takeEvents()).toEqual([]);
    expect(run.memory.unread.get('a')?.reason).toBe(reason);
  });

  test('is not noted when the invocation has ended in its middle', async () => {
    const { run, failFor } = await account('a', 'b');
    await failFor('a', 60, failed('cancelled'));

    expect(run.memory.unread.size).toBe(0);
  });

  test('is not noted when it is polled no more', async () => {
    const { run, failFor } = await account('b');
    await failFor('a', 60, failed('unavailable'));

    expect(run.memory.unread.size).toBe(0);
  });

  test('is not announced when nobody has answered for five minutes', async () => {
    const { run, takeEvents, pass } = await account('a', 'b');
    noteAnswer(run);
    for (let minute = 0; minute < 60; minute++) {
      await noteNotRead(run, 'a', failed('unavailable'));
      pass(MINUTE_MS);
    }

    expect(takeEvents()).toEqual([]);
  });

  test('is not announced while polls have failed for long without a good one between them', async () => {
    const { run, failFor, takeEvents, nowMs } = await account('a', 'b');
    run.memory.failingSinceMs = nowMs() - 3 * MINUTE_MS;
    await failFor('a', 60, failed('unavailable'));

    expect(takeEvents()).toEqual([]);
  });

  test('is announced all the same when it is the only one: then the project list is the evidence', async () => {
    const { run, failFor, takeEvents, nowMs } = await account('a');
    run.memory.failingSinceMs = nowMs() - 3 * MINUTE_MS;
    await failFor('a', 10, failed('unavailable'));

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('counts its ten minutes anew after an outage of all', async () => {
    const { run, failFor, takeEvents, pass } = await account('a', 'b');
    await failFor('a', 8, failed('unavailable'));
    pass(6 * MINUTE_MS);
    await noteNotRead(run, 'a', failed('unavailable'));
    await failFor('a', 9, failed('unavailable'));
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, failed('unavailable'));

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('and that another process announces at this moment is not announced twice', async () => {
    const { failFor, takeEvents, deps } = await account('a', 'b');
    deps.store.record = async () => 'conflict';
    await failFor('a', 10, failed('unavailable'));

    expect(takeEvents()).toEqual([]);
  });

  test('and of which nothing is stored is not announced', async () => {
    const { run, failFor, takeEvents } = await account('b');
    run.memory.projects.set('a', emptyMemory());
    await failFor('a', UNREACHABLE_AFTER_MS / MINUTE_MS, failed('unavailable'));

    expect(takeEvents()).toEqual([]);
  });
});

describe('a project that was read', () => {
  test('is announced once when it had been announced as out of reach', async () => {
    const { run, store, failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 10, failed('unavailable'));
    takeEvents();
    await noteRead(run, 'a', await store.readProject('a'));
    await noteRead(run, 'a', await store.readProject('a'));

    expect(takeEvents()).toEqual([['Project Discovered', 'a']]);
    expect(run.memory.unread.size).toBe(0);
  });

  test('is no news otherwise', async () => {
    const { run, takeEvents, nowMs } = await account('a');
    await noteRead(run, 'a', record('a', { is_visible: false }));
    await noteRead(run, 'a', undefined);

    expect(takeEvents()).toEqual([]);
    expect(run.memory.completedAtMs.get('a')).toBe(nowMs());
  });
});

describe('the oldest reading of the account', () => {
  test('is that of the project that was read longest ago', async () => {
    const { run, pass, nowMs } = await account('a', 'b');
    await noteRead(run, 'a', undefined);
    pass(MINUTE_MS);
    await noteRead(run, 'b', undefined);

    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS);
  });

  test('of a project that was never read is the time since when it is known', async () => {
    const { run, pass, nowMs } = await account('a');
    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS);
    pass(MINUTE_MS);

    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS);
  });

  test('of a project that could be read once is that reading, and not its first failure', async () => {
    const { run, pass, nowMs, failFor } = await account('a');
    await noteRead(run, 'a', undefined);
    pass(MINUTE_MS);
    await failFor('a', 3, failed('unavailable'));

    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS);
  });

  test('leaves out fixed projects that are out of reach', async () => {
    const { run, nowMs } = await account('a');
    run.memory.unreachable.add('a');

    expect(oldestReadingMs(run.memory, nowMs())).toBeUndefined();
  });

  test('does not exist in an account without projects', async () => {
    const { run, nowMs } = await account();

    expect(oldestReadingMs(run.memory, nowMs())).toBeUndefined();
  });
});

const status = (fields: Partial<AccountStatus>) => fields as AccountStatus;

describe('what the process before this one could not read', () => {
  const since = new Date(NOON_MS - 20 * MINUTE_MS).toISOString();

  test('keeps its age and its reason', async () => {
    const { run, nowMs } = await account('a');
    run.memory.status = status({ unread_projects: [{ project_id: 'a', since, reason: 'timeout' }] });
    recallUnread(run);

    expect(unreadProjects(run.memory)).toEqual([{ project_id: 'a', since, reason: 'timeout' }]);
    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS - 20 * MINUTE_MS);
  });

  test('is announced at once when it fails again while others are answered: its ten minutes are over', async () => {
    const { run, failFor, takeEvents } = await account('a', 'b');
    run.memory.status = status({ unread_projects: [{ project_id: 'a', since, reason: 'timeout' }] });
    recallUnread(run);
    await failFor('a', 0, failed('unavailable'));

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('is nothing when its time cannot be read', async () => {
    const { run } = await account('a');
    run.memory.status = status({ unread_projects: [{ project_id: 'a', since: 'soon', reason: 'timeout' }] });
    recallUnread(run);

    expect(run.memory.unread.size).toBe(0);
  });

  test('is nothing when the status says nothing', async () => {
    const { run } = await account('a');
    recallUnread(run);
    run.memory.status = status({});
    recallUnread(run);

    expect(run.memory.unread.size).toBe(0);
    expect(run.memory.unreadBeforeMs).toBeUndefined();
  });

  test('holds the age of the account, until every project was read', async () => {
    const { run, nowMs } = await account('a', 'b');
    run.memory.status = status({ unread_since: since });
    recallUnread(run);
    await noteRead(run, 'a', undefined);
    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS - 20 * MINUTE_MS);
    await noteRead(run, 'b', undefined);
    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS);
    run.memory.completedAtMs.delete('b');

    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS);
  });

  test('holds no age when that process had read everything', async () => {
    const { run } = await account('a');
    run.memory.status = status({ unread_since: since, last_complete_walk_at: since });
    recallUnread(run);

    expect(run.memory.unreadBeforeMs).toBeUndefined();
  });

  test('counts alone in an account whose projects are not known yet', async () => {
    const { run, nowMs } = await account();
    run.memory.status = status({ unread_since: since });
    recallUnread(run);
    run.memory.projects.set('a', emptyMemory());

    expect(oldestReadingMs(run.memory, nowMs())).toBe(NOON_MS - 20 * MINUTE_MS);
  });
});

describe('the projects that the status names as unread', () => {
  test('are the longest unread first', async () => {
    const { run, failFor } = await account('a', 'b');
    await failFor('b', 0, failed('timeout'));
    await failFor('a', 3, failed('unavailable'));

    expect(unreadProjects(run.memory).map(({ project_id }) => project_id)).toEqual(
      expect.arrayContaining(['a', 'b']),
    );
  });

  test('are those that are polled, once the projects are listed', async () => {
    const { run, failFor } = await account('a', 'b');
    await failFor('a', 0, failed('timeout'));
    await failFor('b', 0, failed('timeout'));
    run.memory.projects.delete('b');
    expect(unreadProjects(run.memory)).toHaveLength(2);
    run.memory.discoveredAtMs = NOON_MS;

    expect(unreadProjects(run.memory).map(({ project_id }) => project_id)).toEqual(['a']);
  });

  test('are not those that are told of as out of reach', async () => {
    const { run, failFor } = await account('a');
    await failFor('a', 0, failed('timeout'));
    run.memory.unreachable.add('a');

    expect(unreadProjects(run.memory)).toEqual([]);
  });
});

function upstreamError(kind: UpstreamErrorKind): UpstreamError {
  return new UpstreamError({ kind, method: 'GET', path: '/', message: kind });
}
