/** The small loops of an invocation: its key, its commands, its status and its end. */

import { describe, expect, test } from 'vitest';
import { endWhenQuiet } from '../../../functions/poller/account/end-when-quiet.ts';
import { POLLS_END_MS, RELEASE_MS, REPORT_MS } from '../../../functions/poller/account/limits.ts';
import { noteBound } from '../../../functions/poller/account/note-bound.ts';
import type { AccountLimits } from '../../../functions/poller/account/run.ts';
import { shareWithCommands } from '../../../functions/poller/account/share-with-commands.ts';
import { createTally, DELAYS_MAX } from '../../../functions/poller/account/tally.ts';
import {
  recallStatus,
  tellStatusAtEnd,
  tellStatusRepeatedly,
  WORK_COUNTED_MAX,
} from '../../../functions/poller/account/tell-status.ts';
import { rejectKey, watchKey } from '../../../functions/poller/account/watch-key.ts';
import { release, reportAtEnd, untilLoopsEnd } from '../../../functions/poller/account/wind-up.ts';
import { emptyMemory } from '../../../functions/poller/project/poll.ts';
import { USAGE_LOOK_MS, unknownCommandsMax } from '../../../shared/core/rates/account-rate.ts';
import { afterRefusal, FULL_SHARE } from '../../../shared/core/rates/rate-share.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { readAccountStatus } from '../../../shared/store/account-status-store.ts';
import { aRecord, NOON_MS } from '../../builders.ts';
import { aRun } from './run-under-test.ts';

const MINUTE_MS = 60_000;

/** Lets the loop sleep so often, and then stops the run. */
function stopAfter(
  { run, hooks, sleeps }: ReturnType<typeof aRun>,
  count: number,
  between: (sleepCount: number) => void = () => {},
) {
  hooks.onSleep = () => {
    between(sleeps.length);
    if (sleeps.length >= count) run.stop.abort();
  };
}

describe('a key that the upstream refuses', () => {
  test('is said once, with what to do about it', () => {
    const { run, logs } = aRun();
    rejectKey(run);
    rejectKey(run);

    expect(logs).toMatchObject([{ level: 'error', event: 'key.rejected', account_id: 'main' }]);
    expect(logs[0]?.['advice']).toMatch(/Put a valid key into the secret/);
    expect(run.memory.isKeyRejected).toBe(true);
  });

  test('is looked at every five seconds, and the account goes on with another one', async () => {
    const world = aRun();
    const { run, deps, sleeps } = world;
    let looks = 0;
    Object.assign(deps.key, { hasAnother: async () => ++looks === 3 });
    rejectKey(run);
    stopAfter(world, 5);
    await watchKey(run);

    expect(sleeps).toEqual([5_000, 5_000, 5_000, 5_000, 5_000]);
    expect([run.memory.isKeyRejected, looks]).toEqual([false, 3]);
  });

  test('whose secret cannot be read is refused on', async () => {
    const world = aRun();
    Object.assign(world.deps.key, { hasAnother: () => Promise.reject(new Error('busy')) });
    rejectKey(world.run);
    stopAfter(world, 2);
    await watchKey(world.run);

    expect(world.run.memory.isKeyRejected).toBe(true);
  });

  test('is not looked at while it is valid: a look costs money', async () => {
    const world = aRun();
    Object.assign(world.deps.key, {
      hasAnother: () => {
        throw new Error('nobody should look');
      },
    });
    stopAfter(world, 2);
    await watchKey(world.run);

    expect(world.sleeps).toHaveLength(2);
  });
});

describe('what commands send', () => {
  function withCommands(counts: readonly (number | 'busy')[], requestsPerMinute = 250) {
    const left = [...counts];
    const charged: number[] = [];
    const sentCount = async () => {
      const next = left.shift() ?? 0;
      if (next === 'busy') throw new Error('busy');
      return next;
    };
    const world = aRun({ commands: { sentCount, requestsPerMinute } });
    Object.assign(world.deps.budget, { charge: (count: number) => void charged.push(count) });
    stopAfter(world, counts.length);
    return { ...world, charged };
  }

  test('is taken out of the limit as it becomes known', async () => {
    const { run, charged, sleeps } = withCommands([5, 5, 12]);
    await shareWithCommands(run);

    expect(charged).toEqual([5, 0, 7]);
    expect(sleeps).toEqual([USAGE_LOOK_MS, USAGE_LOOK_MS, USAGE_LOOK_MS]);
    expect(run.memory.commandCount).toBe(12);
  });

  test('before this process is taken out for one minute at most', async () => {
    const { run, charged } = withCommands([1_000_000, 1_000_300]);
    await shareWithCommands(run);

    expect(charged).toEqual([unknownCommandsMax(250), 300]);
  });

  test('counts from where the invocation before has stopped', async () => {
    const { run, charged } = withCommands([17]);
    run.memory.commandCount = 10;
    await shareWithCommands(run);

    expect(charged).toEqual([7]);
  });

  test('is assumed to be their whole part while the table does not say, and then only the rest is taken', async () => {
    const { run, charged } = withCommands([0, 'busy', 'busy', 40]);
    await shareWithCommands(run);

    const assumed = Math.ceil((250 * USAGE_LOOK_MS) / MINUTE_MS);
    expect(charged).toEqual([0, assumed, assumed, Math.max(0, 40 - 2 * assumed)]);
  });

  test('is never given back, also when less was sent than was assumed', async () => {
    const { run, charged } = withCommands([0, 'busy', 1, 2]);
    await shareWithCommands(run);

    expect(charged.slice(2)).toEqual([0, 1]);
  });

  test('is nothing in an account without commands', async () => {
    const world = aRun();
    await shareWithCommands(world.run);

    expect(world.sleeps).toEqual([]);
  });
});

describe('the status of the account', () => {
  const told = ({ table }: ReturnType<typeof aRun>) => readAccountStatus(table, 'main');

  test('is told ten seconds into an invocation, and a minute later again', async () => {
    const world = aRun();
    const times: number[] = [];
    const write = world.deps.status?.write.bind(world.deps.status);
    Object.assign(world.deps.status ?? {}, {
      write: async (status: never) => {
        times.push(world.nowMs() - NOON_MS);
        await write?.(status);
      },
    });
    stopAfter(world, 13);
    await tellStatusRepeatedly(world.run);

    expect(times).toEqual([10_000, 60_000, 110_000]);
    expect(await told(world)).toMatchObject({ account_id: 'main', project_count: 0 });
  });

  test('says how many projects and open operations there are, and when all was last read', async () => {
    const world = aRun();
    const { run, store } = world;
    await store.record(aRecord({ id: 'open' }), undefined);
    run.memory.projects.set('a', emptyMemory());
    run.memory.projects.set('b', emptyMemory());
    run.memory.completedAtMs.set('a', NOON_MS - 5_000);
    run.memory.completedAtMs.set('b', NOON_MS - 9_000);
    stopAfter(world, 2);
    await tellStatusRepeatedly(run);

    expect(await told(world)).toMatchObject({
      project_count: 2,
      open_operation_count: 1,
      last_complete_walk_at: '2026-01-15T11:59:51.000Z',
    });
  });

  test.each([
    ['nothing was read', (_run: ReturnType<typeof aRun>['run']) => {}],
    [
      'a project was never read',
      (run: ReturnType<typeof aRun>['run']) => {
        run.memory.projects.set('b', emptyMemory());
        run.memory.completedAtMs.set('a', NOON_MS);
      },
    ],
  ])('says nothing of a complete reading when %s', async (_what, arrange) => {
    const world = aRun();
    arrange(world.run);
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);

    expect((await told(world))?.last_complete_walk_at).toBeUndefined();
  });

  test('leaves a fixed project that is out of reach out of what was read', async () => {
    const world = aRun();
    world.run.memory.projects.set('gone', emptyMemory());
    world.run.memory.unreachable.add('gone');
    world.run.memory.completedAtMs.set('a', NOON_MS);
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);

    expect((await told(world))?.last_complete_walk_at).toBe('2026-01-15T12:00:00.000Z');
  });

  test('measures the age of the oldest event that is not published, and nothing when all are', async () => {
    const world = aRun();
    await world.store.record(aRecord({ id: 'a' }), undefined);
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);
    expect(world.measures).toContainEqual(['UnpublishedAgeMs', 10_000]);

    const quiet = aRun();
    stopAfter(quiet, 2);
    await tellStatusRepeatedly(quiet.run);
    expect(quiet.measures).toContainEqual(['UnpublishedAgeMs', 0]);
  });

  test('measures the age of an older one that the relay has met elsewhere', async () => {
    const world = aRun();
    await world.store.record(aRecord({ id: 'a' }), undefined);
    world.run.leftovers.oldestAtMs = NOON_MS - MINUTE_MS;
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);

    expect(world.measures).toContainEqual(['UnpublishedAgeMs', MINUTE_MS + 10_000]);
  });

  test('measures no age below nothing, whatever another clock has written', async () => {
    const world = aRun();
    world.run.leftovers.oldestAtMs = NOON_MS + MINUTE_MS;
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);

    expect(world.measures).toContainEqual(['UnpublishedAgeMs', 0]);
  });

  test('says so when there is more work than it counts', async () => {
    const world = aRun();
    const places = Array.from({ length: WORK_COUNTED_MAX }, () => ({
      key: { pk: 'p', sk: 's' },
      projectId: 'a',
      operationId: 'o',
      isCommand: false,
    }));
    world.deps.store.findWorkPage = async () => ({ places, next: { pk: 'p', sk: 's' } });
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);

    expect(world.logs).toContainEqual({
      level: 'warn',
      event: 'work.not_counted',
      counted: WORK_COUNTED_MAX,
    });
    expect(await told(world)).toMatchObject({ open_operation_count: WORK_COUNTED_MAX });
  });

  test('that cannot be written is tried again ten seconds later, and polls go on', async () => {
    const world = aRun();
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
    await tellStatusRepeatedly(world.run);

    expect(world.logs).toEqual([{ level: 'warn', event: 'status.not_written', reason: 'RangeError' }]);
    expect(count).toBeGreaterThanOrEqual(2);
  });

  test('says that delays were dropped when there were too many', async () => {
    const world = aRun();
    Object.assign(world.deps.status?.tally ?? {}, {
      take: () => ({
        requestCount: 0,
        throttledCount: 0,
        delaysMs: Array.from({ length: DELAYS_MAX }, () => 1),
      }),
    });
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);

    expect(world.logs).toContainEqual({
      level: 'warn',
      event: 'bound.met',
      bound: 'delays_kept',
      value: DELAYS_MAX,
    });
  });

  test('of an invocation that ends early is told at its end, unless it was told within the minute', async () => {
    const limits: AccountLimits = {
      pollsAtOnce: 1,
      discoveryIntervalMs: MINUTE_MS,
      requestsPerMinute: 600,
      failingMsMax: 180_000,
      lingerMs: 0,
    };
    const world = aRun({ limits });
    await tellStatusAtEnd(world.run);
    expect(world.run.memory.statusToldAtMs).toBe(NOON_MS);
    world.pass(49_999);
    await tellStatusAtEnd(world.run);
    expect(world.run.memory.statusToldAtMs).toBe(NOON_MS);
    world.pass(1);
    await tellStatusAtEnd(world.run);

    expect(world.run.memory.statusToldAtMs).toBe(NOON_MS + 50_000);
  });

  test('of an invocation that lasts its minute is not told at its end', async () => {
    const world = aRun();
    await tellStatusAtEnd(world.run);

    expect(await told(world)).toBeUndefined();
  });

  test('of the process before is recalled once, with what it had learned', async () => {
    const world = aRun();
    const share = afterRefusal(FULL_SHARE, NOON_MS);
    world.deps.budget.restore({ share, pausedUntilMs: NOON_MS + 500 });
    stopAfter(world, 2);
    await tellStatusRepeatedly(world.run);

    const next = aRun();
    let reads = 0;
    Object.assign(next.deps.status ?? {}, {
      read: () => {
        reads += 1;
        return told(world);
      },
    });
    await recallStatus(next.run);
    await recallStatus(next.run);

    expect(next.deps.budget.learned().share).toEqual(share);
    expect(next.run.memory.status).toMatchObject({ account_id: 'main' });
    expect(reads).toBe(1);
  });

  test('that cannot be read is found out again, and a line says so', async () => {
    const world = aRun();
    Object.assign(world.deps.status ?? {}, { read: () => Promise.reject(new RangeError('busy')) });
    await recallStatus(world.run);

    expect(world.logs).toEqual([{ level: 'warn', event: 'status.not_read', reason: 'RangeError' }]);
  });

  test('that says nothing of what was learned leaves all as it is', async () => {
    const world = aRun();
    await recallStatus(world.run);

    expect(world.logs).toEqual([]);
    expect(world.deps.budget.learned().share).toEqual(FULL_SHARE);
  });
});

describe('what is counted for the status', () => {
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

test('a bound that is met is said once in an invocation', () => {
  const { run, logs, measures } = aRun();
  noteBound(run, 'projects', 5);
  noteBound(run, 'projects', 5);
  noteBound(run, 'list_pages', 7);

  expect(measures).toEqual([
    ['BoundMet', 1],
    ['BoundMet', 1],
  ]);
  expect(logs).toEqual([
    { level: 'warn', event: 'bound.met', bound: 'projects', value: 5 },
    { level: 'warn', event: 'bound.met', bound: 'list_pages', value: 7 },
  ]);
});

describe('the end of an invocation', () => {
  /** A clock whose sleeps end when the test says so. */
  function slowly() {
    const world = aRun();
    const waiting: { readonly durationMs: number; readonly end: () => void }[] = [];
    Object.assign(world.deps.clock, {
      sleep: (durationMs: number, signal?: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          waiting.push({ durationMs, end: resolve });
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        }),
    });
    return { ...world, waiting };
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test('waits for its loops, and says nothing when they end in time', async () => {
    const { run, logs, measures } = slowly();
    const loop = Promise.withResolvers<void>();
    let hasEnded = false;
    const ended = untilLoopsEnd(run, [loop.promise]).then(() => {
      hasEnded = true;
    });
    await settle();
    expect(hasEnded).toBe(false);
    run.stop.abort();
    await settle();
    expect(hasEnded).toBe(false);
    loop.resolve();
    await ended;

    expect([logs, measures]).toEqual([[], []]);
  });

  test('does not wait for a loop beyond its time, and says so where the alarm looks', async () => {
    const { run, waiting, logs, measures } = slowly();
    run.stop.abort();
    const ended = untilLoopsEnd(run, [new Promise(() => {})]);
    await settle();
    expect(waiting.map(({ durationMs }) => durationMs)).toEqual([POLLS_END_MS]);
    waiting[0]?.end();
    await ended;

    expect(logs).toEqual([
      { level: 'warn', event: 'invocation.cut_short', part: 'polls', waited_ms: POLLS_END_MS },
    ]);
    expect(measures).toEqual([['InvocationsCutShort', 1]]);
  });

  test('fails as the first loop that failed, after all have ended', async () => {
    const { run } = slowly();
    run.stop.abort();
    const other = Promise.withResolvers<void>();
    const ended = untilLoopsEnd(run, [Promise.reject(new TypeError('a mistake')), other.promise]);
    other.resolve();

    await expect(ended).rejects.toThrow('a mistake');
  });

  test('reports side by side, and a report that fails holds up no other', async () => {
    const { run, logs } = slowly();
    const done: string[] = [];
    await reportAtEnd(run, {
      health: () => Promise.reject(new RangeError('busy')),
      status: async () => void done.push('status'),
    });

    expect(done).toEqual(['status']);
    expect(logs).toEqual([
      { level: 'error', event: 'invocation.report_failed', part: 'health', reason: 'RangeError' },
    ]);
  });

  test('does not wait for a report beyond its time', async () => {
    const { run, waiting, logs } = slowly();
    const ended = reportAtEnd(run, { health: () => new Promise(() => {}) });
    await settle();
    waiting[0]?.end();
    await ended;

    expect(logs).toMatchObject([{ event: 'invocation.cut_short', part: 'report', waited_ms: REPORT_MS }]);
  });

  test('gives the lease back, and goes on without when that fails or takes long', async () => {
    const { run, deps, logs, waiting } = slowly();
    let count = 0;
    Object.assign(deps.lease, {
      release: async () => {
        count += 1;
      },
    });
    await release(run);
    expect([count, logs]).toEqual([1, []]);
    Object.assign(deps.lease, { release: () => Promise.reject(new RangeError('busy')) });
    await release(run);
    expect(logs).toEqual([{ level: 'warn', event: 'lease.not_released', reason: 'RangeError' }]);
    Object.assign(deps.lease, { release: () => new Promise(() => {}) });
    const ended = release(run);
    await settle();
    waiting.at(-1)?.end();
    await ended;

    expect(logs.at(-1)).toMatchObject({
      event: 'invocation.cut_short',
      part: 'lease',
      waited_ms: RELEASE_MS,
    });
  });
});

describe('an invocation in which nothing happens', () => {
  const limits = (lingerMs: number | undefined): AccountLimits => ({
    pollsAtOnce: 1,
    discoveryIntervalMs: MINUTE_MS,
    requestsPerMinute: 600,
    failingMsMax: 180_000,
    lingerMs,
  });

  function quiet(lingerMs: number | undefined) {
    const world = aRun({ limits: limits(lingerMs) });
    world.run.memory.discoveredAtMs = NOON_MS;
    world.run.leftovers.areExpected = false;
    return world;
  }

  test('goes on to its end when it is not told to end early', async () => {
    const { run, sleeps } = quiet(undefined);
    await endWhenQuiet(run);

    expect([sleeps, run.stop.signal.aborted]).toEqual([[], false]);
  });

  test('ends after it was not needed for as long as it is told', async () => {
    const { run, sleeps } = quiet(1_000);
    await endWhenQuiet(run);

    expect(sleeps).toEqual([250, 250, 250, 250]);
    expect(run.stop.signal.aborted).toBe(true);
  });

  test('goes on while a backlog drains, and counts from its end', async () => {
    const world = quiet(500);
    world.run.leftovers.areDraining = true;
    world.hooks.onSleep = () => {
      if (world.sleeps.length === 5) world.run.leftovers.areDraining = false;
    };
    await endWhenQuiet(world.run);

    expect(world.sleeps).toHaveLength(6);
  });

  test('does not end before the projects were listed', async () => {
    const world = quiet(0);
    world.run.memory.discoveredAtMs = undefined;
    world.hooks.onSleep = () => {
      if (world.sleeps.length === 9) world.run.memory.discoveredAtMs = NOON_MS;
    };
    await endWhenQuiet(world.run);

    expect(world.sleeps).toHaveLength(9);
  });
});
