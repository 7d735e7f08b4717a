import { describe, expect, test } from 'vitest';
import { rememberProject } from '../../../functions/poller/account/discovery/known-projects.ts';
import { pollOneProject } from '../../../functions/poller/account/worker.ts';
import type { Operation } from '../../../shared/records/operation-record.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { anOperation, aRecord, NOON_MS } from '../../builders.ts';
import { anInvocation, BOOT_AT } from './invocation-under-test.ts';

const MINUTE_MS = 60_000;
const A = 'project-a';
const B = 'project-b';
const fresh = (fields: Partial<Operation> = {}) =>
  anOperation({
    project_id: A,
    created_at: '2026-01-15T11:59:00Z',
    updated_at: '2026-01-15T11:59:00Z',
    ...fields,
  });

/** Sets up an account whose projects are known and polled. */
function setUp(fields: Parameters<typeof anInvocation>[0] = {}, projectIds = [A, B]) {
  const world = anInvocation(fields);
  const { deps, memory, origin, leftovers, counts, planned } = world;
  origin.bootAt = BOOT_AT;
  for (const id of projectIds) rememberProject(memory.projects, id);
  deps.planner.addProjects(projectIds);
  leftovers.areExpected = false;
  const permits: boolean[] = [];
  const permit = {
    use: () => {
      permits.push(true);
      return true;
    },
  };
  const poll = (projectId = A) =>
    pollOneProject(deps, memory, { origin, leftovers, counts }, { projectId, permit });
  const answer = (rows: readonly Operation[] | UpstreamErrorKind, projectId = A) => {
    world.script.operations = { ...world.script.operations, [projectId]: rows };
  };
  const lastReport = () => planned.reports.at(-1)?.[1];
  return { ...world, poll, answer, lastReport };
}

describe('a poll that read its project', () => {
  test('is counted with what it recorded and published', async () => {
    const { poll, answer, counts, measures } = setUp();
    answer([fresh({ id: 'a' }), fresh({ id: 'b', status: 'finished' })]);
    await poll();

    expect(counts).toEqual({ pollCount: 1, recordedCount: 2, publishedCount: 2 });
    expect(measures).toContainEqual(['EventsPublished', 2]);
    expect(measures).toContainEqual(['WalksCompleted', 1]);
  });

  test('is reported to the planner: that it succeeded, what it found, and what its page showed', async () => {
    const { poll, answer, planned } = setUp();
    answer([fresh()]);
    await poll();

    expect(planned.reports).toEqual([
      [
        A,
        {
          hasFailed: false,
          foundTransition: true,
          hasLeftovers: false,
          activity: expect.objectContaining({ arrivalCount: 1 }),
          wasCutShort: false,
          restMs: undefined,
        },
        NOON_MS,
      ],
    ]);
  });

  test('and found nothing new is reported as such', async () => {
    const { poll, lastReport } = setUp();
    await poll();

    expect(lastReport()).toMatchObject({ hasFailed: false, foundTransition: false });
  });

  test('is logged once for each project in the life of a process', async () => {
    const { poll, logs } = setUp();
    await poll();
    await poll();
    await poll(B);

    expect(logs.filter(({ event }) => event === 'project.read')).toEqual([
      { level: 'info', event: 'project.read', project_id: A },
      { level: 'info', event: 'project.read', project_id: B },
    ]);
  });

  test('notes when, for the age of the reading and the health of the account', async () => {
    const { poll, memory, pass, nowMs } = setUp();
    memory.health.failingSinceMs = NOON_MS;
    pass(MINUTE_MS);
    await poll();

    expect(memory.readings.completedAtMs.get(A)).toBe(nowMs());
    expect(memory.health).toMatchObject({ answeredAtMs: nowMs(), failingSinceMs: undefined });
  });

  test('publishes the recovery of an account that was degraded', async () => {
    const { poll, memory, know, takeEvents, deps, store } = setUp();
    await know();
    const account = await store.readAccount();
    if (account === undefined) throw new Error('The account is not stored');
    await deps.store.record({ ...account, degraded_reason: 'upstream_failing' }, account.revision);
    memory.health.isDegraded = true;
    await poll();

    expect(takeEvents()).toContainEqual(['Account Recovered', 'upstream_failing']);
  });
});

describe('events that the bus did not take', () => {
  test('are expected by the relay, and the project is polled again soon', async () => {
    const { poll, answer, leftovers, deps, lastReport } = setUp();
    deps.bus.publish = async (events) => events.map(() => ({ kind: 'retry', code: 'down' }));
    answer([fresh()]);
    await poll();

    expect(leftovers.areExpected).toBe(true);
    expect(lastReport()).toMatchObject({ hasLeftovers: true, foundTransition: true });
  });

  test('of another process are expected by the relay as well', async () => {
    const { poll, leftovers, store } = setUp();
    await store.record(aRecord({ id: 'left', project_id: A, status: 'finished' }), undefined);
    await poll();

    expect(leftovers.areExpected).toBe(true);
  });

  test('are not expected when all were published', async () => {
    const { poll, answer, leftovers } = setUp();
    answer([fresh()]);
    await poll();

    expect(leftovers.areExpected).toBe(false);
  });
});

describe('a poll that the upstream has failed', () => {
  test.each(['unavailable', 'timeout', 'rate_limited'] as const)(
    'with %s is logged with its reason, and the account fails from now on',
    async (kind) => {
      const { poll, answer, memory, logs, lastReport, nowMs } = setUp();
      answer(kind);
      await poll();

      expect(logs).toEqual([{ level: 'warn', event: 'poll.interrupted', reason: kind }]);
      expect(memory.health.failingSinceMs).toBe(nowMs());
      expect(lastReport()).toMatchObject({ hasFailed: true });
      expect(memory.readings.unread.get(A)?.reason).toBe(kind);
    },
  );

  test('keeps the moment since when the account fails', async () => {
    const { poll, answer, memory, pass } = setUp();
    answer('unavailable');
    await poll();
    pass(MINUTE_MS);
    await poll();

    expect(memory.health.failingSinceMs).toBe(NOON_MS);
  });

  test('with a refused key stops the account, and is published', async () => {
    const { poll, answer, memory, know, takeEvents, logs } = setUp();
    await know();
    answer('unauthorized');
    await poll();

    expect(memory.health.isKeyRejected).toBe(true);
    expect(takeEvents()).toEqual([['Account Degraded', 'key_rejected']]);
    expect(logs.map(({ event }) => event)).toEqual(['key.rejected']);
  });

  test('by its end alone says nothing: neither of the account nor of the project', async () => {
    const { poll, answer, memory, logs, lastReport } = setUp();
    answer('cancelled');
    await poll();

    expect(logs).toEqual([]);
    expect(memory.health.failingSinceMs).toBeUndefined();
    expect(memory.readings.unread.size).toBe(0);
    expect(lastReport()).toMatchObject({ hasFailed: false, wasCutShort: true });
  });

  test('by its end after a page was read costs the project no turn either, and a failure is no end', async () => {
    const { poll, deps, answer, lastReport } = setUp();
    answer([fresh()]);
    const ended = {
      kind: 'cancelled',
      method: 'GET',
      path: '/operations',
      message: 'the invocation ends',
    } as const;
    const cancelled = new UpstreamError(ended);
    const listOperations = deps.upstream.listOperations.bind(deps.upstream);
    let pageCount = 0;
    Object.assign(deps.upstream, {
      listOperations: async (...asked: Parameters<typeof listOperations>) => {
        pageCount += 1;
        if (pageCount > 1) throw cancelled;
        return { ...(await listOperations(...asked)), cursor: 'more' };
      },
    });
    await poll();
    expect(lastReport()).toMatchObject({ hasFailed: false, wasCutShort: true });
    expect(pageCount).toBe(2);
    const failing = setUp();
    failing.answer('unavailable');
    await failing.poll();

    expect(failing.lastReport()).toMatchObject({ hasFailed: true, wasCutShort: false });
  });
});

describe('a project whose operations answer 404', () => {
  test('waits for evidence, and says nothing of the health of the account', async () => {
    const { poll, answer, memory, logs, lastReport } = setUp();
    answer('not_found');
    await poll();

    expect(memory.projects.absences.get(A)).toMatchObject({ notFoundCount: 1 });
    expect(memory.health.failingSinceMs).toBeUndefined();
    expect(logs).toEqual([{ level: 'warn', event: 'poll.interrupted', reason: 'not_found' }]);
    // One such project has a fifth of 600 requests a minute.
    expect(lastReport()).toMatchObject({ hasFailed: true, restMs: 500 });
  });

  test('and that answers again waits no more', async () => {
    const { poll, answer, memory, lastReport } = setUp();
    answer('not_found');
    await poll();
    answer([]);
    await poll();

    expect(memory.projects.absences.size).toBe(0);
    expect(lastReport()?.restMs).toBeUndefined();
  });
});

describe('a project that stays unread', () => {
  const failFor = async ({ poll, pass }: ReturnType<typeof setUp>, minutes: number) => {
    for (let minute = 0; minute <= minutes; minute++) {
      if (minute > 0) pass(MINUTE_MS);
      await poll();
    }
  };

  test('is published as unreachable while others are answered', async () => {
    const world = setUp();
    await world.store.record(aProjectRecord(), undefined);
    world.answer('forbidden');
    for (let minute = 0; minute <= 10; minute++) {
      await world.poll(B);
      await world.poll();
      world.pass(MINUTE_MS);
    }

    expect(world.takeEvents()).toEqual([['Project Unreachable', A]]);
  });

  test('keeps its count when its process has sent nothing for six minutes, and is published once another is answered', async () => {
    const world = setUp();
    await world.store.record(aProjectRecord(), undefined);
    world.answer('forbidden');
    for (let minute = 0; minute <= 4; minute++) {
      await world.poll();
      await world.poll(B);
      world.pass(MINUTE_MS);
    }
    world.pass(5 * MINUTE_MS);
    await world.poll();
    expect(world.takeEvents()).toEqual([]);
    await world.poll(B);
    await world.poll();

    expect(world.takeEvents()).toEqual([['Project Unreachable', A]]);
  });

  test('begins its ten minutes anew once no poll of the account has succeeded for three', async () => {
    const world = setUp();
    await world.store.record(aProjectRecord(), undefined);
    world.answer('forbidden');
    await world.poll(B);
    await failFor(world, 8);
    for (let minute = 0; minute < 10; minute++) {
      await world.poll(B);
      world.pass(MINUTE_MS);
      await world.poll();
      expect(world.takeEvents()).toEqual(minute < 9 ? [] : [['Project Unreachable', A]]);
    }
  });

  test('is not published when nothing was answered for five minutes', async () => {
    const world = setUp();
    await world.store.record(aProjectRecord(), undefined);
    world.memory.health.answeredAtMs = NOON_MS;
    world.answer('forbidden');
    await failFor(world, 30);

    expect(world.takeEvents()).toEqual([]);
  });

  test('is not published while no poll of the account succeeds, although the list is answered', async () => {
    const world = setUp();
    await world.store.record(aProjectRecord(), undefined);
    world.answer('forbidden');
    world.answer('unavailable', B);
    for (let minute = 0; minute <= 30; minute++) {
      world.memory.health.answeredAtMs = world.nowMs();
      await world.poll();
      await world.poll(B);
      world.pass(MINUTE_MS);
    }

    expect(world.takeEvents()).toEqual([]);
  });

  test('is published although no poll succeeds when it is the only one, since the list is answered', async () => {
    const world = setUp({}, [A]);
    await world.store.record(aProjectRecord(), undefined);
    world.answer('forbidden');
    for (let minute = 0; minute <= 10; minute++) {
      world.memory.health.answeredAtMs = world.nowMs();
      await world.poll();
      world.pass(MINUTE_MS);
    }

    expect(world.takeEvents()).toEqual([['Project Unreachable', A]]);
  });

  test('keeps its ten minutes when a second project becomes known, which was not polled yet', async () => {
    const world = setUp({}, [A]);
    await world.store.record(aProjectRecord(), undefined);
    world.answer('forbidden');
    for (let minute = 0; minute <= 10; minute++) {
      world.memory.health.answeredAtMs = world.nowMs();
      if (minute === 5) rememberProject(world.memory.projects, B);
      await world.poll();
      if (minute > 5) await world.poll(B);
      world.pass(MINUTE_MS);
    }

    expect(world.takeEvents()).toEqual([['Project Unreachable', A]]);
  });

  test('is the only one, too, when another one was read and is gone', async () => {
    const world = setUp();
    await world.store.record(aProjectRecord(), undefined);
    world.answer('forbidden');
    await world.poll(B);
    world.memory.projects.memories.delete(B);
    for (let minute = 0; minute <= 10; minute++) {
      world.memory.health.answeredAtMs = world.nowMs();
      await world.poll();
      world.pass(MINUTE_MS);
    }

    expect(world.takeEvents()).toEqual([['Project Unreachable', A]]);
  });

  test.each([
    ['never', undefined],
    ['for more than five minutes not', NOON_MS],
  ])('is not published when it is the only one and the list was %s answered', async (_when, answeredAtMs) => {
    const world = setUp({}, [A]);
    await world.store.record(aProjectRecord(), undefined);
    world.memory.health.answeredAtMs = answeredAtMs;
    world.answer('forbidden');
    await failFor(world, 30);

    expect(world.takeEvents()).toEqual([]);
  });

  test('is published as discovered once it is read again', async () => {
    const world = setUp();
    await world.store.record({ ...aProjectRecord(), is_visible: false, is_unread: true }, undefined);
    await world.poll();

    expect(world.takeEvents()).toEqual([['Project Discovered', A]]);
  });
});

describe('a poll that fails by a programming error', () => {
  test('fails, is reported as failed, and its project counts as unread', async () => {
    const { poll, deps, memory, counts, lastReport } = setUp();
    deps.store.readProject = () => Promise.reject(new TypeError('undefined is not a function'));

    await expect(poll()).rejects.toThrow(TypeError);
    expect(lastReport()).toEqual({
      hasFailed: true,
      foundTransition: false,
      hasLeftovers: false,
      activity: undefined,
      wasCutShort: false,
      restMs: undefined,
    });
    expect(memory.readings.unread.get(A)?.reason).toBe('failed');
    expect(counts.pollCount).toBe(0);
  });

  test('of a project that is polled no more counts for nothing', async () => {
    const { poll, deps, memory } = setUp();
    deps.store.readProject = () => {
      memory.projects.memories.delete(A);
      return Promise.reject(new TypeError('undefined is not a function'));
    };

    await expect(poll()).rejects.toThrow(TypeError);
    expect(memory.readings.unread.size).toBe(0);
  });

  test('after its project was read does not make the project unread', async () => {
    const { poll, memory, deps } = setUp();
    memory.health.isDegraded = true;
    deps.store.readAccount = () => Promise.reject(new TypeError('undefined is not a function'));

    await expect(poll()).rejects.toThrow(TypeError);
    expect(memory.readings.unread.size).toBe(0);
  });
});

test('a poll goes on from what the planner knows of its project, with the permit that was taken for it', async () => {
  const { poll, deps, operationOptions } = setUp();
  const asked: string[] = [];
  deps.planner.historyOf = (id) => {
    asked.push(id);
    return undefined;
  };
  await poll();

  expect(asked).toEqual([A]);
  expect(operationOptions[0]?.permit).toBeDefined();
  expect(operationOptions[0]?.signal).toBe(deps.signal);
});

function aProjectRecord() {
  return {
    kind: 'project' as const,
    account_id: 'main',
    project_id: A,
    is_visible: true,
    revision: 0,
    published: 0,
    entries: [],
  };
}
