import { describe, expect, test } from 'vitest';
import { rememberProject } from '../../../functions/poller/account/discovery/known-projects.ts';
import { pollUntilStopped } from '../../../functions/poller/account/worker.ts';
import type { PollDecision } from '../../../functions/poller/planner/poll-planner.ts';
import { NOON_MS } from '../../builders.ts';
import { anInvocation, BOOT_AT, named } from './invocation-under-test.ts';

/**
 * Sets up a worker whose planner decides what the test says. It stops with its last decision, or after `sleepCount`
 * sleeps.
 */
function setUp(decisions: readonly PollDecision[] = [], sleepCount = 3, place = 0) {
  const world = anInvocation();
  const { deps, memory, origin, discovery, leftovers, counts, stop, hooks, sleeps } = world;
  origin.bootAt = BOOT_AT;
  rememberProject(memory.projects, 'a');
  const left = [...decisions];
  const permits = { taken: 0, givenBack: 0 };
  Object.assign(deps.planner, {
    next: (): PollDecision => {
      const [decision = { kind: 'wait', untilMs: Number.POSITIVE_INFINITY }] = left.splice(0, 1);
      if (left.length === 0 && decisions.length > 0) stop.abort();
      return decision;
    },
  });
  Object.assign(deps.budget, {
    take: async () => {
      permits.taken += 1;
    },
    giveBack: () => {
      permits.givenBack += 1;
    },
  });
  hooks.onSleep = () => {
    if (sleeps.length >= sleepCount) stop.abort();
  };
  const run = () => pollUntilStopped(deps, memory, { origin, discovery, leftovers, counts }, place);
  return { ...world, permits, run };
}

describe('a worker', () => {
  test('polls the project that the planner names, with the permit that it took before', async () => {
    const { run, operationCalls, permits, counts } = setUp([
      { kind: 'poll', projectId: 'a' },
      { kind: 'wait', untilMs: NOON_MS },
    ]);
    await run();

    expect(operationCalls).toEqual(['a']);
    expect(permits).toEqual({ taken: 2, givenBack: 1 });
    expect(counts.pollCount).toBe(1);
  });

  test('reads the page of the project list that the planner names, and the account counts as answered', async () => {
    const { run, script, listCalls, planned, memory } = setUp([
      { kind: 'list', page: 1, cursor: 'x' },
      { kind: 'wait', untilMs: NOON_MS },
    ]);
    script.pages = { x: { projects: named('b') } };
    await run();

    expect(listCalls.map(({ cursor }) => cursor)).toEqual(['x']);
    expect(planned.pages).toMatchObject([[1, { projectIds: ['b'] }, NOON_MS]]);
    expect(memory.health.answeredAtMs).toBe(NOON_MS);
  });

  test('reads the computes of the project that the planner names, with the permit that it took before', async () => {
    const { run, deps, permits } = setUp([
      { kind: 'computes', projectId: 'a' },
      { kind: 'wait', untilMs: NOON_MS },
    ]);
    const running = [{ id: 'ep-1', lastActiveMs: NOON_MS, suspendAfterMs: 300_000 }];
    const asked: string[] = [];
    const reports: unknown[][] = [];
    Object.assign(deps.upstream, {
      listRunningComputes: async ({ projectId }: { projectId: string }) => {
        asked.push(projectId);
        return running;
      },
    });
    Object.assign(deps.planner, { reportComputes: (...report: unknown[]) => void reports.push(report) });
    await run();

    expect(asked).toEqual(['a']);
    expect(reports).toEqual([['a', running, NOON_MS]]);
    expect(permits).toEqual({ taken: 2, givenBack: 1 });
  });

  test('goes on after a reading of computes that fails', async () => {
    const { run, deps, logs, operationCalls } = setUp([
      { kind: 'computes', projectId: 'a' },
      { kind: 'poll', projectId: 'a' },
      { kind: 'wait', untilMs: NOON_MS },
    ]);
    Object.assign(deps.upstream, {
      listRunningComputes: () => Promise.reject(new TypeError('undefined is not a function')),
    });
    await run();

    expect(logs[0]).toMatchObject({ event: 'poll.failed', reason: 'TypeError' });
    expect(operationCalls).toEqual(['a']);
  });

  test('goes on after a poll or a page that fails', async () => {
    const { run, script, deps, logs } = setUp([
      { kind: 'poll', projectId: 'a' },
      { kind: 'list', page: 0, cursor: undefined },
      { kind: 'wait', untilMs: NOON_MS },
    ]);
    script.pages = { '': 'unavailable' };
    deps.store.readProject = () => Promise.reject(new TypeError('undefined is not a function'));
    await run();

    expect(logs.map(({ event, reason }) => [event, reason])).toEqual([
      ['poll.failed', 'TypeError'],
      ['poll.failed', 'UpstreamError'],
    ]);
  });

  test('gives its permit back when nothing is due, and looks again at that time, after a second at the latest', async () => {
    const { run, permits, sleeps } = setUp(
      [
        { kind: 'wait', untilMs: NOON_MS + 300 },
        { kind: 'wait', untilMs: Number.POSITIVE_INFINITY },
        { kind: 'wait', untilMs: NOON_MS },
        { kind: 'wait', untilMs: NOON_MS },
      ],
      4,
    );
    await run();

    expect(sleeps).toEqual([300, 1_000, 0]);
    expect(permits).toEqual({ taken: 4, givenBack: 4 });
  });

  test('that has no watch rests for long when nothing is due, and shorter while a permit is only kept', async () => {
    const kept = (ms: number): PollDecision => ({ kind: 'wait', untilMs: NOON_MS + ms, keepsPermit: true });
    const { run, sleeps } = setUp(
      [{ kind: 'wait', untilMs: NOON_MS + 90 }, kept(10_090), kept(99_000), { kind: 'wait', untilMs: 0 }],
      4,
      11,
    );
    await run();

    expect(sleeps).toEqual([10_000, 11 * 90, 10_000]);
  });

  test.each([
    ['looks after a second', 3, 1_000],
    ['looks after ten seconds, because four others look', 4, 10_000],
  ])('for which nothing is due %s', async (_when, place, restMs) => {
    const { run, sleeps } = setUp([], 2, place);
    await run();

    expect(sleeps).toEqual([restMs, restMs]);
  });

  test('learns from the first page of the list what is history', async () => {
    const { run, origin } = setUp([{ kind: 'list', page: 0, cursor: undefined }]);
    origin.bootAt = undefined;
    await run();

    expect(origin.bootAt).toBe('2026-01-15T12:00:00.000000000Z');
  });

  test('takes no permit while the key is refused', async () => {
    const { run, memory, permits, sleeps } = setUp();
    memory.health.isKeyRejected = true;
    await run();

    expect(permits.taken).toBe(0);
    expect(sleeps).toEqual([1_000, 1_000, 1_000]);
  });

  // Seeds 500060151 and 1944 of the wide world: the project that it would have chosen waited for two rounds more.
  test('gives its permit back and chooses no project when the key was refused while it waited for the permit', async () => {
    const { run, memory, deps, permits, operationCalls } = setUp([{ kind: 'poll', projectId: 'a' }]);
    Object.assign(deps.budget, {
      take: async () => {
        permits.taken += 1;
        memory.health.isKeyRejected = true;
      },
    });
    await run();

    expect(permits).toEqual({ taken: 1, givenBack: 1 });
    expect(operationCalls).toEqual([]);
  });

  test('waits a second when it gets no permit', async () => {
    const { run, deps, sleeps, operationCalls } = setUp();
    Object.assign(deps.budget, { take: () => Promise.reject(new Error('the invocation stops')) });
    await run();

    expect(sleeps).toEqual([1_000, 1_000, 1_000]);
    expect(operationCalls).toEqual([]);
  });

  test('asks for its permit with the signal of the invocation', async () => {
    const { run, deps } = setUp([{ kind: 'wait', untilMs: NOON_MS }]);
    const signals: (AbortSignal | undefined)[] = [];
    Object.assign(deps.budget, {
      take: async (signal?: AbortSignal) => {
        signals.push(signal);
      },
    });
    await run();

    expect(signals).toEqual([deps.signal]);
  });

  test('does nothing in an invocation that has stopped', async () => {
    const { run, stop, permits, sleeps } = setUp();
    stop.abort();
    await run();

    expect([permits.taken, sleeps]).toEqual([0, []]);
  });
});
