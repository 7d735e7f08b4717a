/** Tests when lists of computes are read, what follows from them, and that large accounts are read as well. */

import { describe, expect, test } from 'vitest';
import { createPollPlanner, type PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import type { ProjectActivity } from '../../../functions/poller/planner/project-activity.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const PERMIT_MS = MINUTE_MS / 600;
const limits = {
  pollIntervalMsMin: 1_000,
  requestsPerMinute: 600,
  failureBackoffMsMax: 5 * MINUTE_MS,
  readsComputes: true,
  listing: undefined,
};
const quiet: ProjectActivity = {
  openSinceMs: undefined,
  uses: [],
  arrivalCount: 8,
  observedMs: DAY_MS,
};
const result = { hasFailed: false, foundTransition: false, hasLeftovers: false };
const named = (count: number) => Array.from({ length: count }, (_, place) => `p${place}`);

interface Served {
  readonly atMs: number;
  readonly kind: 'poll' | 'computes';
  readonly id: string;
}

/**
 * Runs an account in which the compute of `p0` runs from the beginning. `answer` reports what a reading of its computes came to.
 * Returns what got a permit.
 */
function serve(
  plan: PollPlanner,
  durationMs: number,
  answer: (id: string, nowMs: number) => void,
  isRunning: (id: string) => boolean = (id) => id === 'p0',
): readonly Served[] {
  const served: Served[] = [];
  for (let nowMs = 0; nowMs < durationMs; nowMs += PERMIT_MS) {
    const decision = plan.next(nowMs);
    if (decision.kind === 'wait' || decision.kind === 'list') continue;
    const id = decision.projectId;
    served.push({ atMs: nowMs, kind: decision.kind, id });
    if (decision.kind === 'computes') answer(id, nowMs);
    else {
      const running = isRunning(id)
        ? { uses: [{ computeId: `ep-${id}`, beganMs: 0, endedMs: undefined }] }
        : {};
      plan.report(id, { ...result, activity: { ...quiet, ...running } }, nowMs);
    }
  }
  return served;
}

function aPlanner(ids: readonly string[]): PollPlanner {
  const plan = createPollPlanner(limits);
  plan.addProjects(ids);
  return plan;
}

describe('the list of computes of a project', () => {
  test('is read once its compute can be suspended, and until the instant that it names the project is polled like a quiet one', () => {
    const plan = aPlanner(named(300));
    const lastActiveMs = 11 * MINUTE_MS;
    const served = serve(plan, 20 * MINUTE_MS, (id) =>
      plan.reportComputes(id, [{ id: `ep-${id}`, lastActiveMs, suspendAfterMs: 5 * MINUTE_MS }], 0),
    );
    const lists = served.filter(({ kind }) => kind === 'computes');
    const pollsOf = (wanted: string, fromMs: number, toMs: number) =>
      served.filter(({ id, kind, atMs }) => id === wanted && kind === 'poll' && atMs >= fromMs && atMs < toMs)
        .length;
    const [from, to] = [(lists[0]?.atMs ?? 0) + MINUTE_MS, 15.5 * MINUTE_MS];

    expect(new Set(lists.map(({ id }) => id))).toEqual(new Set(['p0']));
    expect(lists[0]?.atMs).toBeGreaterThanOrEqual(5 * MINUTE_MS);
    expect(pollsOf('p0', from, to)).toBeLessThanOrEqual(1.5 * pollsOf('p7', from, to));
    expect(pollsOf('p0', 16 * MINUTE_MS, 17 * MINUTE_MS)).toBeGreaterThan(
      2 * pollsOf('p7', 16 * MINUTE_MS, 17 * MINUTE_MS),
    );
  });

  test('lets the project be polled at once when it shows that the compute has stopped', () => {
    const plan = aPlanner(named(300));
    const served = serve(plan, 7 * MINUTE_MS, (id, nowMs) => plan.reportComputes(id, [], nowMs));
    const place = served.findIndex(({ kind }) => kind === 'computes');

    expect(served.slice(place + 1, place + 3).map(({ id }) => id)).toContain('p0');
  });

  test('is not read for ten minutes after three in a row could not be read', () => {
    const plan = aPlanner(named(300));
    const served = serve(
      plan,
      14 * MINUTE_MS,
      (id, nowMs) => plan.reportComputes(id, 'unreadable', nowMs),
      (id) => Number(id.slice(1)) < 10,
    );

    expect(served.filter(({ kind }) => kind === 'computes')).toHaveLength(3);
  });

  test('is read again at its next turn when the end of the invocation cut its reading short', () => {
    const plan = aPlanner(named(300));
    const served = serve(plan, 7 * MINUTE_MS, (id, nowMs) => plan.reportComputes(id, 'cut_short', nowMs));

    expect(served.filter(({ kind }) => kind === 'computes').length).toBeGreaterThan(3);
  });

  test('is never read when the account has no use for it, or at most with three of ten permits', () => {
    const without = createPollPlanner({ ...limits, readsComputes: false });
    without.addProjects(named(300));
    const never = serve(without, 8 * MINUTE_MS, () => {});
    const plan = aPlanner(named(300));
    const always = serve(
      plan,
      8 * MINUTE_MS,
      (id, nowMs) => plan.reportComputes(id, 'cut_short', nowMs),
      () => true,
    );
    const shareOf = (all: readonly Served[]) =>
      all.filter(({ kind }) => kind === 'computes').length / all.length;

    expect(shareOf(never)).toBe(0);
    expect(shareOf(always)).toBeLessThanOrEqual(0.31);
  });
});

describe('an account with more projects than one decision looks at', () => {
  const COUNT = 12_000;

  test('hands each project out once, and all of them in two rounds', () => {
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 12_000 });
    plan.addProjects(named(COUNT));
    const chosen = new Set<string>();
    let pollCount = 0;
    for (let turn = 0; turn < 2 * COUNT; turn++) {
      const decision = plan.next(turn * 5);
      if (decision.kind !== 'poll') continue;
      pollCount += 1;
      chosen.add(decision.projectId);
    }

    expect(chosen.size).toBe(COUNT);
    expect(pollCount).toBe(COUNT);
  });

  test('serves a command in any of them at once', () => {
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 12_000 });
    plan.addProjects(named(COUNT));
    for (let turn = 0; turn < 10; turn++) plan.next(turn * 5);
    plan.askAtOnce(`p${COUNT - 1}`);
    const next = [plan.next(60), plan.next(65)];

    expect(next).toContainEqual({ kind: 'poll', projectId: `p${COUNT - 1}` });
  });
});

test('a project that is removed is forgotten with everything that was asked for it', () => {
  const plan = aPlanner(['a', 'b']);
  plan.next(0);
  plan.next(0);
  for (const id of ['a', 'b']) {
    plan.report(id, { ...result, activity: { ...quiet, openSinceMs: 0 }, hasLeftovers: true }, 0);
    plan.askAtOnce(id);
  }
  plan.removeProjects(['a', 'b']);

  expect(plan.waitingCount()).toBe(0);
  expect(plan.historyOf('a')).toBeUndefined();
  expect(plan.need(0, 1)).toEqual({ hasReadAll: true, hasWork: false, expectedTransitionsPerMs: 0 });
  expect(plan.next(MINUTE_MS)).toMatchObject({ kind: 'wait' });
});
