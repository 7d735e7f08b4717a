import { describe, expect, test } from 'vitest';
import type { AccountMemory } from '../../../../functions/poller/account/account-memory.ts';
import { statusSources } from '../../../../functions/poller/account/poll-account.ts';
import {
  failingMs,
  markFailed,
  troubleOf,
} from '../../../../functions/poller/account/status/publish-health.ts';
import {
  createTally,
  DELAYS_MAX,
  publishStatusIfDue,
  publishStatusRepeatedly,
  recallStatus,
  WORK_COUNTED_MAX,
  WORK_READ_MAX,
} from '../../../../functions/poller/account/status/publish-status.ts';
import { emptyMemory } from '../../../../functions/poller/project/project-memory.ts';
import { afterRefusal, FULL_SHARE } from '../../../../shared/rates/account-rate.ts';
import { silentTelemetry } from '../../../../shared/runtime/telemetry.ts';
import { readAccountStatus } from '../../../../shared/store/account-status-store.ts';
import { aRecord, commandRecord, NOON_MS } from '../../../builders.ts';
import { anInvocation } from '../invocation-under-test.ts';

const MINUTE_MS = 60_000;

function anAccount() {
  const world = anInvocation();
  const { deps, memory, leftovers } = world;
  const { status } = deps;
  if (status === undefined) throw new Error('The invocation has no status');
  const statusDeps = { ...deps, status };
  const sources = statusSources(memory, leftovers, () => troubleOf(deps, memory.health));
  return {
    ...world,
    publish: () => publishStatusRepeatedly(statusDeps, memory.status, sources),
    publishIfDue: () => publishStatusIfDue(statusDeps, memory.status, sources),
    recall: () => recallStatus(statusDeps, memory.status, memory),
  };
}

/** Lets the loop sleep `count` times, and then stops the invocation. */
function stopAfter({ stop, hooks, sleeps }: ReturnType<typeof anInvocation>, count: number) {
  hooks.onSleep = () => {
    if (sleeps.length >= count) stop.abort();
  };
}

describe('the status of the account', () => {
  const stored = ({ table }: ReturnType<typeof anInvocation>) => readAccountStatus(table, 'main');

  test('is published ten seconds into an invocation, and again every 50 seconds', async () => {
    const world = anAccount();
    const times: number[] = [];
    const write = world.deps.status?.write.bind(world.deps.status);
    Object.assign(world.deps.status ?? {}, {
      write: async (status: never) => {
        times.push(world.nowMs() - NOON_MS);
        await write?.(status);
      },
    });
    stopAfter(world, 13);
    await world.publish();

    expect(times).toEqual([10_000, 60_000, 110_000]);
    expect(await stored(world)).toMatchObject({ account_id: 'main', project_count: 0 });
  });

  test('names the trouble of the account at the next look, and its end as well', async () => {
    const world = anAccount();
    const { memory, sleeps, stop, hooks } = world;
    const troubles: unknown[] = [];
    hooks.onSleep = async () => {
      if (sleeps.length > 1) troubles.push((await stored(world))?.trouble);
      if (sleeps.length === 2) memory.health.isKeyRejected = true;
      if (sleeps.length === 3) memory.health.isKeyRejected = false;
      if (sleeps.length === 4) stop.abort();
    };
    await world.publish();

    expect(troubles).toEqual([undefined, 'key_rejected', undefined]);
  });

  test('says how many projects and open operations there are, and when all was last read', async () => {
    const world = anAccount();
    const { memory, store } = world;
    await store.record(aRecord({ id: 'open' }), undefined);
    // A command is work, too, and no operation.
    await store.record(commandRecord('a', 'r-1'), undefined);
    memory.projects.memories.set('a', emptyMemory());
    memory.projects.memories.set('b', emptyMemory());
    memory.readings.completedAtMs.set('a', NOON_MS - 5_000);
    memory.readings.completedAtMs.set('b', NOON_MS - 9_000);
    memory.listings.hasEnded = true;
    stopAfter(world, 2);
    await world.publish();

    expect(await stored(world)).toMatchObject({
      project_count: 2,
      open_operation_count: 1,
      last_complete_walk_at: '2026-01-15T11:59:51.000Z',
    });
  });

  test.each([
    ['nothing was read', (_memory: AccountMemory) => {}],
    [
      'a project was never read',
      (memory: AccountMemory) => {
        memory.projects.memories.set('b', emptyMemory());
        memory.readings.completedAtMs.set('a', NOON_MS);
      },
    ],
  ])('says nothing of a complete reading when %s', async (_what, arrange) => {
    const world = anAccount();
    arrange(world.memory);
    stopAfter(world, 2);
    await world.publish();

    expect((await stored(world))?.last_complete_walk_at).toBeUndefined();
  });

  test('leaves a fixed project that is out of reach out of what was read', async () => {
    const world = anAccount();
    const { projects, readings, listings } = world.memory;
    for (const id of ['a', 'gone']) projects.memories.set(id, emptyMemory());
    projects.unreachable.add('gone');
    readings.completedAtMs.set('a', NOON_MS);
    listings.hasEnded = true;
    stopAfter(world, 2);
    await world.publish();

    expect((await stored(world))?.last_complete_walk_at).toBe('2026-01-15T12:00:00.000Z');
  });

  test('measures the age of the oldest event that is not published, and nothing when all are', async () => {
    const world = anAccount();
    await world.store.record(aRecord({ id: 'a' }), undefined);
    stopAfter(world, 2);
    await world.publish();
    expect(world.measures).toContainEqual(['UnpublishedAgeMs', 10_000]);

    const quiet = anAccount();
    stopAfter(quiet, 2);
    await quiet.publish();
    expect(quiet.measures).toContainEqual(['UnpublishedAgeMs', 0]);
  });

  test.each([
    [3, 3],
    [250, 250],
    [WORK_READ_MAX + 1, WORK_READ_MAX],
  ])('counts %i events that wait for the bus, in one figure', async (waiting, counted) => {
    const world = anAccount();
    for (let index = 0; index < waiting; index++)
      await world.store.record(aRecord({ id: `op-${index}` }), undefined);
    await world.publishIfDue();

    const backlog = world.measures.filter(([figure]) => figure === 'UnpublishedBacklog');
    expect(backlog).toEqual([['UnpublishedBacklog', counted]]);
  });

  test('looks no further than the first items when nothing waits for the bus', async () => {
    const world = anAccount();
    for (let index = 0; index < 250; index++) {
      const record = aRecord({ id: `op-${index}` });
      await world.store.record({ ...record, published: record.revision }, undefined);
    }
    const readRecords = world.store.readRecords.bind(world.store);
    const read: number[] = [];
    world.deps.store.readRecords = (keys) => {
      read.push(keys.length);
      return readRecords(keys);
    };
    await world.publishIfDue();

    expect(read).toEqual([100]);
    expect(world.measures).toContainEqual(['UnpublishedBacklog', 0]);
  });

  test('measures the age of an older one that the relay has met elsewhere', async () => {
    const world = anAccount();
    await world.store.record(aRecord({ id: 'a' }), undefined);
    world.leftovers.oldestAtMs = NOON_MS - MINUTE_MS;
    stopAfter(world, 2);
    await world.publish();

    expect(world.measures).toContainEqual(['UnpublishedAgeMs', MINUTE_MS + 10_000]);
  });

  test('measures no negative age, whatever another clock has written', async () => {
    const world = anAccount();
    world.leftovers.oldestAtMs = NOON_MS + MINUTE_MS;
    stopAfter(world, 2);
    await world.publish();

    expect(world.measures).toContainEqual(['UnpublishedAgeMs', 0]);
  });

  test('reads a bounded number of items for their age, and asks for as many as it counts', async () => {
    const world = anAccount();
    for (let index = 0; index <= WORK_READ_MAX; index++)
      await world.store.record(aRecord({ id: `op-${index}` }), undefined);
    const findWorkPage = world.store.findWorkPage.bind(world.store);
    const readRecords = world.store.readRecords.bind(world.store);
    const asked: number[] = [];
    world.deps.store.findWorkPage = (request) => {
      asked.push(request.limit);
      return findWorkPage(request);
    };
    world.deps.store.readRecords = (keys) => {
      asked.push(keys.length);
      return readRecords(keys);
    };

    await world.publishIfDue();

    expect(asked).toEqual([WORK_COUNTED_MAX, ...Array.from({ length: WORK_READ_MAX / 100 }, () => 100)]);
    expect(await stored(world)).toMatchObject({ open_operation_count: WORK_READ_MAX + 1 });
  });

  test('goes on from what is stored, which is read once before the first write', async () => {
    const world = anAccount();
    await world.publishIfDue();
    const next = anAccount();
    let readCount = 0;
    const read = async () => {
      readCount += 1;
      return stored(world);
    };
    Object.assign(next.deps.status ?? {}, { read });

    next.pass(MINUTE_MS);
    await next.publishIfDue();
    next.pass(MINUTE_MS);
    await next.publishIfDue();

    expect(readCount).toBe(1);
    expect((await stored(next))?.points.map(({ at_ms, duration_ms }) => [at_ms, duration_ms])).toEqual([
      [NOON_MS, 10_000],
      [NOON_MS + MINUTE_MS, 10_000],
      [NOON_MS + 2 * MINUTE_MS, MINUTE_MS],
    ]);
  });

  test('logs that there is more work than it counts', async () => {
    const world = anAccount();
    const places = Array.from({ length: WORK_COUNTED_MAX }, (_, place) => ({
      key: { pk: 'p', sk: `s${place}` },
      projectId: 'a',
      operationId: 'o',
      isCommand: false,
    }));
    world.deps.store.findWorkPage = async () => ({ entries: places, next: { pk: 'p', sk: 's' } });
    stopAfter(world, 2);
    await world.publish();

    expect(world.logs).toContainEqual({
      level: 'warn',
      event: 'work.not_counted',
      counted: WORK_COUNTED_MAX,
    });
    expect(await stored(world)).toMatchObject({ open_operation_count: WORK_COUNTED_MAX });
  });

  test('that cannot be written is tried again ten seconds later, and polls go on', async () => {
    const world = anAccount();
    let count = 0;
    const write = world.deps.status?.write.bind(world.deps.status);
    Object.assign(world.deps.status ?? {}, {
      write: async (status: never) => {
        count += 1;
        if (count === 1) throw new RangeError('busy');
        await write?.(status);
      },
    });
    stopAfter(world, 7);
    await world.publish();

    expect(world.logs).toEqual([{ level: 'warn', event: 'status.not_written', reason: 'RangeError' }]);
    expect(count).toBeGreaterThanOrEqual(2);
  });

  test('reports that delays were dropped when there were more than it keeps', async () => {
    const world = anAccount();
    Object.assign(world.deps.status?.tally ?? {}, {
      take: () => ({
        requestCount: 0,
        throttledCount: 0,
        delaysMs: Array.from({ length: DELAYS_MAX }, () => 1),
      }),
    });
    stopAfter(world, 2);
    await world.publish();

    expect(world.logs).toContainEqual({
      level: 'warn',
      event: 'bound.met',
      bound: 'delays_kept',
      value: DELAYS_MAX,
    });
  });

  test('is published at once when it is due, and within 50 seconds of the last one it is not due', async () => {
    const world = anAccount();
    await world.publishIfDue();
    expect(world.memory.status.writtenAtMs).toBe(NOON_MS);
    world.pass(49_999);
    await world.publishIfDue();
    expect(world.memory.status.writtenAtMs).toBe(NOON_MS);
    world.pass(1);
    await world.publishIfDue();

    expect(world.memory.status.writtenAtMs).toBe(NOON_MS + 50_000);
  });

  test('of the process before is recalled with what it had learned, which a warm process never takes over again', async () => {
    const world = anAccount();
    const share = afterRefusal(FULL_SHARE, NOON_MS);
    world.deps.budget.restore({ share, pausedUntilMs: NOON_MS + 500 });
    stopAfter(world, 2);
    await world.publish();
    const next = anAccount();
    let second = 0;
    const read = async () => ({ ...(await stored(world)), written_at: `2026-01-10T12:00:0${second++}.000Z` });
    Object.assign(next.deps.status ?? {}, { read });

    await next.recall();
    expect(next.deps.budget.learned().share).toEqual(share);
    expect(next.memory.status.stored).toMatchObject({ account_id: 'main' });

    next.deps.budget.restore({ share: FULL_SHARE, pausedUntilMs: NOON_MS });
    await next.recall();
    expect(next.deps.budget.learned().share).toEqual(FULL_SHARE);
  });

  test('of the process before names the projects that it could not read, and they stay unread', async () => {
    const world = anAccount();
    const since = { sinceMs: NOON_MS - MINUTE_MS, aloneSinceMs: NOON_MS - MINUTE_MS, reason: 'unavailable' };
    world.memory.projects.memories.set('a', emptyMemory());
    world.memory.readings.unread.set('a', since);
    await world.publishIfDue();
    const next = anAccount();
    Object.assign(next.deps.status ?? {}, { read: () => stored(world) });

    await next.recall();

    expect([...next.memory.readings.unread]).toEqual([['a', since]]);
  });

  test('that this process has written itself is not recalled', async () => {
    const world = anAccount();
    const { unread } = world.memory.readings;
    world.memory.projects.memories.set('a', emptyMemory());
    unread.set('a', { sinceMs: NOON_MS, aloneSinceMs: NOON_MS, reason: 'unavailable' });
    await world.publishIfDue();
    unread.delete('a');

    await world.recall();

    expect(unread.size).toBe(0);
  });

  test.each([
    { begins: 'a minute', afterMs: MINUTE_MS, failingForMs: 3 * MINUTE_MS },
    { begins: 'ten minutes', afterMs: 10 * MINUTE_MS, failingForMs: 12 * MINUTE_MS },
    { begins: 'more than ten minutes', afterMs: 10 * MINUTE_MS + 1, failingForMs: 0 },
    { begins: 'an hour by a clock that is behind', afterMs: -60 * MINUTE_MS, failingForMs: 0 },
  ])(
    'says since when polls fail, to a process that begins $begins later',
    async ({ afterMs, failingForMs }) => {
      const world = anAccount();
      markFailed(world.memory.health, NOON_MS - 2 * MINUTE_MS);
      await world.publishIfDue();
      const next = anAccount();
      next.pass(afterMs);
      Object.assign(next.deps.status ?? {}, { read: () => stored(world) });

      await next.recall();

      expect(failingMs(next.memory.health, next.nowMs())).toBe(failingForMs);
    },
  );

  test('ends the failures of a process after which another one has read operations', async () => {
    const world = anAccount();
    markFailed(world.memory.health, NOON_MS);
    await world.publishIfDue();
    const next = anAccount();
    next.pass(MINUTE_MS);
    await next.publishIfDue();
    Object.assign(world.deps.status ?? {}, { read: () => stored(next) });

    await world.recall();

    expect(world.memory.health.failingSinceMs).toBeUndefined();
  });

  test('of a version that noted nothing that it had learned is recalled without it', async () => {
    const world = anAccount();
    await world.publishIfDue();
    const next = anAccount();
    Object.assign(next.deps.status ?? {}, {
      read: async () => ({ ...(await stored(world)), learned: undefined }),
    });

    await next.recall();

    expect(next.logs).toEqual([]);
    expect(next.memory.status.stored).toMatchObject({ account_id: 'main' });
  });

  test('that cannot be read is found out again, and a line logs it', async () => {
    const world = anAccount();
    Object.assign(world.deps.status ?? {}, { read: () => Promise.reject(new RangeError('busy')) });
    await world.recall();

    expect(world.logs).toEqual([{ level: 'warn', event: 'status.not_read', reason: 'RangeError' }]);
  });

  test('that holds nothing of what was learned leaves all as it is', async () => {
    const world = anAccount();
    await world.recall();

    expect(world.logs).toEqual([]);
    expect(world.deps.budget.learned().share).toEqual(FULL_SHARE);
  });
});

describe('what is counted for the status', () => {
  test.each([
    [40, 10, [25]],
    [20, 0, [0]],
    // One refusal among a handful of requests would be a large share.
    [19, 19, []],
  ])(
    'says of %i requests which share the upstream refused for their rate',
    async (requestCount, throttledCount, percents) => {
      const world = anAccount();
      Object.assign(world.deps.status.tally, {
        take: () => ({ requestCount, throttledCount, delaysMs: [] }),
      });
      stopAfter(world, 2);
      await world.publish();

      const measured = world.measures.filter(([metric]) => metric === 'UpstreamThrottledPercent');
      expect(measured.map(([, value]) => value)).toEqual(percents);
    },
  );

  test('goes on to the metrics, and is taken once', () => {
    const measured: unknown[] = [];
    const inner = { log: () => {}, measure: (...each: unknown[]) => void measured.push(each) };
    const { telemetry, tally } = createTally(inner);
    telemetry.measure('UpstreamRequests', 2);
    telemetry.measure('UpstreamRequests', 1);
    telemetry.measure('UpstreamThrottled', 1);
    telemetry.measure('DetectionDelayMs', 250);
    telemetry.measure('FailuresByAction', 1, 'start_compute');

    expect(measured).toHaveLength(5);
    expect(measured.at(-1)).toEqual(['FailuresByAction', 1, 'start_compute']);
    expect(tally.take()).toEqual({ requestCount: 3, throttledCount: 1, delaysMs: [250] });
    expect(tally.take()).toEqual({ requestCount: 0, throttledCount: 0, delaysMs: [] });
  });

  test('keeps five thousand delays and no more', () => {
    const { telemetry, tally } = createTally(silentTelemetry);
    for (let count = 0; count < DELAYS_MAX + 10; count++) telemetry.measure('DetectionDelayMs', count);

    expect(tally.take().delaysMs).toHaveLength(DELAYS_MAX);
  });
});
