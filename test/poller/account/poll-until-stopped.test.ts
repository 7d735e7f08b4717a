import { describe, expect, test } from 'vitest';
import { rememberProject } from '../../../functions/poller/account/discovery/known-projects.ts';
import { pollUntilStopped } from '../../../functions/poller/account/worker.ts';
import type { PollDecision } from '../../../functions/poller/planner/poll-planner.ts';
import { NOON_MS } from '../../builders.ts';
import { anInvocation, BOOT_AT, named } from './invocation-under-test.ts';

/**
 * Sets up an invocation whose planner decides what the test says. It stops with its last decision, or after `sleepCount`
 * sleeps.
 */
function setUp(decisions: readonly PollDecision[] = [], sleepCount = 3) {
  const world = anInvocation();
  const { deps, memory, origin, discovery, leftovers, counts, stop, hooks, sleeps } = world;
  origin.bootAt = BOOT_AT;
  rememberProject(memory.projects, 'a');
  const left = [...decisions];
  const permits = { taken: 0, givenBack: 0 };
  Object.assign(deps.planner, {
    next: (): PollDecision => {
      const [decision = { kind: 'wait', untilMs: Number.POSITIVE_INFINITY }] = left.splice(0, 1);
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
  // What is under way ends before the invocation does.
  hooks.onSleep = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if (sleeps.length >= sleepCount || (left.length === 0 && decisions.length > 0)) stop.abort();
  };
  const run = () => pollUntilStopped(deps, memory, { origin, discovery, leftovers, counts });
  return { ...world, permits, run };
}

describe('an invocation', () => {
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

  test('gives its permit back when nothing is due, and looks again at that time, after a quarter of a second at the latest', async () => {
    const { run, permits, sleeps } = setUp(
      [
        { kind: 'wait', untilMs: NOON_MS + 100 },
        { kind: 'wait', untilMs: Number.POSITIVE_INFINITY },
        { kind: 'wait', untilMs: NOON_MS },
        { kind: 'wait', untilMs: NOON_MS },
      ],
      4,
    );
    await run();

    expect(sleeps).toEqual([100, 250, 0, 0]);
    expect(permits).toEqual({ taken: 4, givenBack: 4 });
  });

  test('takes no further permit while as many polls are under way as may be', async () => {
    const poll = (projectId: string): PollDecision => ({ kind: 'poll', projectId });
    const { run, deps, permits, operationCalls } = setUp([poll('a'), poll('b'), poll('c')]);
    const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const listOperations = deps.upstream.listOperations.bind(deps.upstream);
    Object.assign(deps.upstream, {
      listOperations: async (...call: Parameters<typeof listOperations>) => {
        await answers[operationCalls.length]?.promise;
        return listOperations(...call);
      },
    });
    const running = run();
    await new Promise((resolve) => setImmediate(resolve));
    expect(permits.taken).toBe(deps.limits.pollsAtOnce);
    for (const { resolve } of answers) resolve();
    await running;

    expect(operationCalls).toEqual(['a', 'b', 'c']);
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
    expect(sleeps).toEqual([250, 250, 250]);
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

  test('waits a moment when it gets no permit', async () => {
    const { run, deps, sleeps, operationCalls } = setUp();
    Object.assign(deps.budget, { take: () => Promise.reject(new Error('the invocation stops')) });
    await run();

    expect(sleeps).toEqual([250, 250, 250]);
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
