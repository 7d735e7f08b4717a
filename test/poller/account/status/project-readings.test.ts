import { describe, expect, test } from 'vitest';
import {
  forgetReadings,
  markRead,
  markUnread,
  type OtherRequests,
  oldestReadingMs,
  recallReadings,
  startReadingAges,
  unreadProjects,
  unreadReason,
} from '../../../../functions/poller/account/status/project-readings.ts';
import type { PollReport } from '../../../../functions/poller/project/poll-project.ts';
import type { AccountStatus } from '../../../../shared/records/account-status.ts';
import type { ProjectRecord } from '../../../../shared/records/project-record.ts';
import { UnreadableItemError } from '../../../../shared/store/unreadable.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../../builders.ts';
import { anInvocation } from '../invocation-under-test.ts';

const MINUTE_MS = 60_000;

async function account(...ids: readonly string[]) {
  const world = anInvocation();
  const { deps, memory, store } = world;
  const { readings } = memory;
  for (const id of ids) await store.record(record(id), undefined);
  /** Lets the project fail once a minute. */
  const failFor = async (
    projectId: string,
    minutes: number,
    reason: string,
    others: OtherRequests = 'answered',
  ) => {
    for (let minute = 0; minute <= minutes; minute++) {
      if (minute > 0) world.pass(MINUTE_MS);
      await markUnread(deps, readings, { projectId, reason, others });
    }
  };
  const oldest = () => {
    startReadingAges(readings, ids, true, world.nowMs());
    return oldestReadingMs(readings, ids);
  };
  return { ...world, readings, failFor, oldest };
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
  test('is published as unreachable after ten minutes, once', async () => {
    const { failFor, takeEvents, storedProject } = await account('a', 'b');
    await failFor('a', 9, 'unavailable');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'unavailable');
    await failFor('a', 60, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
    expect(storedProject('a')).toMatchObject({ is_visible: false, is_unread: true });
  });

  test.each(['failed', 'forbidden'])('is published for the reason %s, too', async (reason) => {
    const { readings, failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 10, reason);

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
    expect(readings.unread.get('a')?.reason).toBe(reason);
  });

  test.each([
    ['its first reading goes on', 'unfinished'],
    ['it answers 404, which a listing judges', 'not_found'],
    ['its item cannot be read', 'item_unreadable'],
  ])('is not published when %s', async (_what, reason) => {
    const { readings, failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 60, reason);

    expect(takeEvents()).toEqual([]);
    expect(readings.unread.get('a')?.reason).toBe(reason);
  });

  test('counts its ten minutes from the last failure for a reason that is not published', async () => {
    const { failFor, takeEvents, pass } = await account('a', 'b');
    await failFor('a', 60, 'not_found');
    pass(MINUTE_MS);
    await failFor('a', 9, 'unavailable');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('is not published while no other request of the account is answered', async () => {
    const { failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 60, 'unavailable', 'failing');

    expect(takeEvents()).toEqual([]);
  });

  test('counts its ten minutes anew after an outage of all', async () => {
    const { failFor, takeEvents, pass } = await account('a', 'b');
    await failFor('a', 8, 'unavailable');
    pass(6 * MINUTE_MS);
    await failFor('a', 0, 'unavailable', 'failing');
    await failFor('a', 9, 'unavailable');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('counts its ten minutes anew after a pause in which nothing was polled', async () => {
    const { failFor, takeEvents, pass } = await account('a', 'b');
    await failFor('a', 0, 'unavailable');
    pass(2 * 24 * 60 * MINUTE_MS);
    await failFor('a', 9, 'unavailable');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('has been unread since its last complete reading', async () => {
    const { deps, readings, failFor, pass } = await account('a');
    await markRead(deps, readings, 'a', undefined);
    pass(5 * MINUTE_MS);
    await failFor('a', 1, 'unavailable');

    expect(unreadProjects(readings, () => true)).toMatchObject([
      { project_id: 'a', since: '2026-01-15T12:00:00.000Z', failing_since: '2026-01-15T12:05:00.000Z' },
    ]);
  });

  test('counts its ten minutes anew after a pause of just ten minutes', async () => {
    const { failFor, takeEvents, pass } = await account('a', 'b');
    await failFor('a', 0, 'unavailable');
    pass(10 * MINUTE_MS);
    await failFor('a', 0, 'unavailable');

    expect(takeEvents()).toEqual([]);
  });

  test('is published when it fails for the second time after more than ten minutes in which others were polled', async () => {
    const { deps, readings, failFor, takeEvents, pass } = await account('a', 'b');
    await failFor('a', 0, 'unavailable');
    for (let count = 0; count < 3; count++) {
      pass(9 * MINUTE_MS);
      await markRead(deps, readings, 'b', undefined);
    }
    await failFor('a', 0, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  // Seed 500012012 of the wide world: each of two processes in turn began the count of both anew.
  test('keeps its count while a process has seen nothing else yet, and is published once others are answered', async () => {
    const { failFor, takeEvents, pass } = await account('a', 'b');
    await failFor('a', 8, 'unavailable');
    pass(MINUTE_MS);
    await failFor('a', 1, 'unavailable', 'unknown');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 0, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('and that another process publishes at this moment is not published twice', async () => {
    const { failFor, takeEvents, deps } = await account('a', 'b');
    deps.store.record = async () => 'conflict';
    await failFor('a', 10, 'unavailable');

    expect(takeEvents()).toEqual([]);
  });

  test('and of which nothing is stored is not published', async () => {
    const { failFor, takeEvents } = await account('b');
    await failFor('a', 10, 'unavailable');

    expect(takeEvents()).toEqual([]);
  });
});

describe('a project that was read', () => {
  test('is published once as discovered when it had been published as unreachable', async () => {
    const { deps, readings, store, failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 10, 'unavailable');
    takeEvents();
    await markRead(deps, readings, 'a', await store.readProject('a'));
    await markRead(deps, readings, 'a', await store.readProject('a'));

    expect(takeEvents()).toEqual([['Project Discovered', 'a']]);
    expect(readings.unread.size).toBe(0);
  });

  test('is no news otherwise', async () => {
    const { deps, readings, takeEvents, nowMs } = await account('a');
    await markRead(deps, readings, 'a', record('a', { is_visible: false }));
    await markRead(deps, readings, 'a', record('a', { is_visible: true, is_unread: true }));
    await markRead(deps, readings, 'a', undefined);

    expect(takeEvents()).toEqual([]);
    expect(readings.completedAtMs.get('a')).toBe(nowMs());
  });
});

describe('the oldest reading of the account', () => {
  test('is that of the project that was read longest ago', async () => {
    const { deps, readings, oldest, pass } = await account('a', 'b');
    await markRead(deps, readings, 'a', undefined);
    pass(MINUTE_MS);
    await markRead(deps, readings, 'b', undefined);

    expect(oldest()).toBe(NOON_MS);
  });

  test('of a project that was never read is the time since when it is known', async () => {
    const { oldest, pass } = await account('a');
    expect(oldest()).toBe(NOON_MS);
    pass(MINUTE_MS);

    expect(oldest()).toBe(NOON_MS);
  });

  test('of a project that could be read once is that reading, and not its first failure', async () => {
    const { deps, readings, oldest, pass, failFor } = await account('a');
    await markRead(deps, readings, 'a', undefined);
    pass(MINUTE_MS);
    await failFor('a', 3, 'unavailable');

    expect(oldest()).toBe(NOON_MS);
  });

  test('does not exist in an account without projects', async () => {
    const { oldest } = await account();

    expect(oldest()).toBeUndefined();
  });
});

const status = (fields: Partial<AccountStatus>) => fields as AccountStatus;

describe('what the process before this one could not read', () => {
  const since = new Date(NOON_MS - 20 * MINUTE_MS).toISOString();

  test('keeps its age, its reason and its first failure', async () => {
    const { readings, oldest } = await account('a');
    const unread = {
      project_id: 'a',
      since,
      reason: 'timeout',
      failing_since: new Date(NOON_MS).toISOString(),
    };
    recallReadings(readings, status({ unread_projects: [unread] }));

    expect(unreadProjects(readings, () => true)).toEqual([unread]);
    expect(oldest()).toBe(NOON_MS - 20 * MINUTE_MS);
  });

  test('is published at once when it fails again while others are answered, because its ten minutes are over', async () => {
    const { readings, failFor, takeEvents } = await account('a', 'b');
    const unread = { project_id: 'a', since, reason: 'timeout', failing_since: since };
    recallReadings(readings, status({ unread_projects: [unread] }));
    await failFor('a', 0, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('counts its ten minutes from its first failure, and not from its last complete reading', async () => {
    const { deps, readings, failFor, pass, takeEvents } = await account('a', 'b');
    await markRead(deps, readings, 'a', undefined);
    pass(60 * MINUTE_MS);
    await failFor('a', 4, 'timeout');
    const next = await account('a', 'b');
    next.pass(65 * MINUTE_MS);
    recallReadings(next.readings, status({ unread_projects: unreadProjects(readings, () => true) }));
    await next.failFor('a', 4, 'timeout');
    expect([...takeEvents(), ...next.takeEvents()]).toEqual([]);
    await next.failFor('a', 1, 'timeout');

    expect(next.takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('counts from when the status was written, when an older version wrote it without the first failure', async () => {
    const { readings, failFor, takeEvents } = await account('a', 'b');
    const written_at = new Date(NOON_MS).toISOString();
    recallReadings(
      readings,
      status({ written_at, unread_projects: [{ project_id: 'a', since, reason: 'timeout' }] }),
    );
    await failFor('a', 9, 'timeout');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'timeout');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('counts anew when the process before it has polled nothing for a long time', async () => {
    const { readings, failFor, takeEvents } = await account('a', 'b');
    const unread = { project_id: 'a', since, reason: 'timeout', failing_since: since };
    recallReadings(readings, status({ written_at: since, unread_projects: [unread] }));
    await failFor('a', 9, 'timeout');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'timeout');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('goes on when this process has polled since that one wrote its status', async () => {
    const { deps, readings } = await account('a', 'b');
    await markRead(deps, readings, 'b', undefined);
    recallReadings(readings, status({ written_at: since }));

    expect(readings.polledAtMs).toBe(NOON_MS);
  });

  test.each([
    ['counts anew when another process has read the project meanwhile, and it fails again', 0, []],
    [
      'goes on when the other process has named only some of its unread projects',
      1,
      [['Project Unreachable', 'a']],
    ],
  ])('%s', async (_name, unread_project_count, published) => {
    const { readings, failFor, pass, takeEvents } = await account('a', 'b');
    await failFor('a', 1, 'timeout');
    pass(20 * MINUTE_MS);
    const written_at = new Date(NOON_MS + 20 * MINUTE_MS).toISOString();
    recallReadings(readings, status({ written_at, unread_project_count }));
    await failFor('a', 0, 'timeout');

    expect(takeEvents()).toEqual(published);
  });

  // Seed 600000507 of the wide world: each process forgot that the project had failed since the other one wrote the status.
  test('says nothing new of a project that has failed here since a later time', async () => {
    const { readings, failFor, takeEvents } = await account('a', 'b');
    await failFor('a', 1, 'unavailable');
    const earlier = { failing_since: since, reason: 'unfinished' };
    recallReadings(readings, status({ unread_projects: [{ project_id: 'a', since, ...earlier }] }));
    await failFor('a', 8, 'unavailable');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'unavailable');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('adds no age to an account of which this process has read a project', async () => {
    const { deps, readings } = await account('a', 'b');
    await markRead(deps, readings, 'b', undefined);
    recallReadings(readings, status({ unread_since: since }));

    expect(readings.unreadBeforeMs).toBeUndefined();
  });

  test('counts from a later complete reading of this process', async () => {
    const { deps, readings, failFor, takeEvents } = await account('a', 'b');
    await markRead(deps, readings, 'a', undefined);
    const unread = { project_id: 'a', since, reason: 'timeout', failing_since: since };
    recallReadings(readings, status({ unread_projects: [unread] }));
    await failFor('a', 9, 'timeout');
    expect(takeEvents()).toEqual([]);
    await failFor('a', 1, 'timeout');

    expect(takeEvents()).toEqual([['Project Unreachable', 'a']]);
  });

  test('is nothing when its time cannot be read', async () => {
    const { readings } = await account('a');
    recallReadings(
      readings,
      status({ unread_projects: [{ project_id: 'a', since: 'soon', reason: 'timeout' }] }),
    );

    expect(readings.unread.size).toBe(0);
  });

  test('is nothing when the status says nothing', async () => {
    const { readings } = await account('a');
    recallReadings(readings, undefined);
    recallReadings(readings, status({}));

    expect(readings.unread.size).toBe(0);
    expect(readings.unreadBeforeMs).toBeUndefined();
  });

  test('holds the age of the account, until every project was read', async () => {
    const { deps, readings, oldest } = await account('a', 'b');
    recallReadings(readings, status({ unread_since: since }));
    await markRead(deps, readings, 'a', undefined);
    expect(oldest()).toBe(NOON_MS - 20 * MINUTE_MS);
    await markRead(deps, readings, 'b', undefined);
    expect(oldest()).toBe(NOON_MS);
    readings.completedAtMs.delete('b');

    expect(oldest()).toBe(NOON_MS);
  });

  test('holds no age when that process had read everything', async () => {
    const { readings } = await account('a');
    recallReadings(readings, status({ unread_since: since, last_complete_walk_at: since }));

    expect(readings.unreadBeforeMs).toBeUndefined();
  });

  test('counts in an account whose projects are not known yet', async () => {
    const { readings } = await account();
    recallReadings(readings, status({ unread_since: since }));

    expect(oldestReadingMs(readings, [])).toBe(NOON_MS - 20 * MINUTE_MS);
  });
});

describe('the projects that the status names as unread', () => {
  test('are the longest unread first', async () => {
    const { readings, failFor } = await account('a', 'b');
    await failFor('b', 0, 'timeout');
    await failFor('a', 3, 'unavailable');

    expect(unreadProjects(readings, () => true).map(({ project_id }) => project_id)).toEqual(
      expect.arrayContaining(['a', 'b']),
    );
  });

  test('are those that are still known', async () => {
    const { readings, failFor } = await account('a', 'b');
    await failFor('a', 0, 'timeout');
    await failFor('b', 0, 'timeout');

    expect(unreadProjects(readings, (id) => id === 'a').map(({ project_id }) => project_id)).toEqual(['a']);
  });
});

describe('the reason why a poll did not read its project to the end', () => {
  const reported = (failure: UpstreamErrorKind | undefined) =>
    unreadReason({ failure } as PollReport, undefined);

  test('is the failure of the upstream, when the poll reports one', () => {
    expect(reported('timeout')).toBe('timeout');
  });

  test('is that the poll was unfinished, when it reports no failure', () => {
    expect(reported(undefined)).toBe('unfinished');
  });

  test('is the error that ended the poll, when there is no report', () => {
    const unreadable = new UnreadableItemError({ key: { pk: 'p', sk: 's' }, fields: [] });
    const forbidden = new UpstreamError({ kind: 'forbidden', method: 'GET', path: '/', message: 'no' });

    expect(unreadReason(undefined, unreadable)).toBe('item_unreadable');
    expect(unreadReason(undefined, forbidden)).toBe('forbidden');
    expect(unreadReason(undefined, new TypeError('undefined is not a function'))).toBe('failed');
  });
});

test('projects that come and go leave nothing in the memory of a long-lived process', async () => {
  const { deps, readings, nowMs } = await account();
  for (let number = 0; number < 500; number++) {
    const id = `project-${number}`;
    startReadingAges(readings, [id], true, nowMs());
    await markUnread(deps, readings, { projectId: id, reason: 'unavailable', others: 'answered' });
    if (number % 2 === 0) await markRead(deps, readings, id, undefined);
    forgetReadings(readings, id);
  }
  const { completedAtMs, knownAtMs, unread } = readings;
  expect([completedAtMs.size, knownAtMs.size, unread.size]).toEqual([0, 0, 0]);
});
