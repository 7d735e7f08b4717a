import { describe, expect, test } from 'vitest';
import type { ProjectRow } from '../../../functions/poller/planner/list-hints.ts';
import type { PlannerLimits } from '../../../functions/poller/planner/pace.ts';
import { createPollPlanner, type PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { NOON_MS } from '../../builders.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** The list gives hints, and is not read more often for them. */
const limits: PlannerLimits = {
  pollIntervalMsMin: 1_000,
  requestsPerMinute: 600,
  failureBackoffMsMax: MINUTE_MS,
  listing: { usualIntervalMs: MINUTE_MS, hintIntervalMsMin: undefined },
};
const quiet = { openSinceMs: undefined, uses: [], arrivalCount: 0, observedMs: DAY_MS };
const result = { hasFailed: false, foundTransition: false, hasLeftovers: false, activity: quiet };
const lastPageOf = (rows: readonly ProjectRow[]) => ({
  rows,
  unavailableProjectIds: [],
  malformedRowCount: 0,
  cursor: undefined,
});
const named = (count: number) => Array.from({ length: count }, (_, place) => `p${place}`);

/** Returns what is read next, and next, without the end of any reading. */
function nextOf(plan: PollPlanner, nowMs: number, count: number): readonly string[] {
  return Array.from({ length: count }, () => {
    const decision = plan.next(nowMs);
    return decision.kind === 'poll' ? decision.projectId : decision.kind;
  });
}

function readAll(plan: PollPlanner, ids: readonly string[], nowMs: number): void {
  nextOf(plan, nowMs, ids.length);
  for (const id of ids) plan.report(id, result, nowMs);
}

describe('a reading that is asked for', () => {
  test('before its project is known comes before its turn once it is', () => {
    const plan = createPollPlanner(limits);
    plan.askAtOnce('late');
    plan.addProjects(['a', 'b', 'late']);

    // The first of the newcomers is due, which uses every second permit.
    expect(nextOf(plan, 0, 3)).toEqual(['a', 'late', 'b']);
  });
});

describe('the time between two readings of a project', () => {
  test.each([
    [10, 5_000],
    [50, 250],
  ])('is chosen by the number of projects: of %d, each is read after %d ms', (count, intervalMs) => {
    const plan = createPollPlanner({ ...limits, pollIntervalMsMin: 'by_size', listing: undefined });
    plan.addProjects(named(count));
    readAll(plan, named(count), 0);

    expect(plan.next(0)).toEqual({ kind: 'wait', untilMs: intervalMs });
  });

  test('is a little longer while the last permit is kept for what the list shows next', () => {
    const listing = { usualIntervalMs: MINUTE_MS, hintIntervalMsMin: 1_000 };
    const plan = createPollPlanner({ ...limits, pollIntervalMsMin: 0, listing });
    plan.addProjects(named(2));
    const recall = { foundCount: 200, missedCount: 0 };
    plan.restoreHints([{ name: 'updated_at', recall, hitCount: 200, moveCount: 200 }]);
    plan.reportPage(0, lastPageOf(named(2).map((id) => ({ id }))), 0);
    let decision = plan.next(0);
    for (; decision.kind === 'poll'; decision = plan.next(0)) plan.report(decision.projectId, result, 0);

    expect(decision).toEqual({ kind: 'wait', untilMs: expect.any(Number) });
    expect(decision.kind === 'wait' && plan.next(decision.untilMs).kind).toBe('poll');
  });
});

describe('a clock that is set back by an hour', () => {
  const beforeMs = NOON_MS;
  const afterMs = NOON_MS - 60 * MINUTE_MS;

  test('does not keep a project that fails from its next reading', () => {
    const plan = createPollPlanner({ ...limits, listing: undefined });
    plan.addProjects(['a']);
    expect(nextOf(plan, beforeMs, 1)).toEqual(['a']);
    plan.report('a', { ...result, hasFailed: true }, beforeMs);

    expect([0, 4_999, 5_000].map((passedMs) => nextOf(plan, afterMs + passedMs, 1)[0])).toEqual([
      'wait',
      'wait',
      'a',
    ]);
  });

  test('does not keep the list from being read, nor a page of it that failed', () => {
    const plan = createPollPlanner(limits);
    plan.reportPage(0, lastPageOf([]), beforeMs);
    expect(nextOf(plan, beforeMs, 1)).toEqual(['wait']);
    expect([0, MINUTE_MS].map((passedMs) => nextOf(plan, afterMs + passedMs, 1)[0])).toEqual([
      'wait',
      'list',
    ]);
    plan.reportPage(0, undefined, afterMs + MINUTE_MS);
    expect(nextOf(plan, afterMs + MINUTE_MS, 1)).toEqual(['wait']);

    expect([0, 5_000].map((passedMs) => nextOf(plan, afterMs + passedMs, 1)[0])).toEqual(['wait', 'list']);
  });

  test('leaves the project that has waited longest the next one', () => {
    const plan = createPollPlanner({ ...limits, pollIntervalMsMin: 10_000, listing: undefined });
    plan.addProjects(['a', 'b', 'c']);
    nextOf(plan, beforeMs - 30_000, 3);
    for (const [place, id] of ['b', 'a', 'c'].entries()) {
      plan.report(id, { ...result, activity: undefined }, beforeMs - 30_000 + 1_000 * place);
      nextOf(plan, beforeMs - 30_000 + 1_000 * place, 1);
    }

    expect(nextOf(plan, afterMs, 1)).toEqual(['wait']);
    expect(nextOf(plan, afterMs + 10_000, 3)).toEqual(['b', 'a', 'c']);
  });

  test('does not keep the list from being read for its hints', () => {
    const listing = { usualIntervalMs: 10 * MINUTE_MS, hintIntervalMsMin: 1_000 };
    const plan = createPollPlanner({ ...limits, pollIntervalMsMin: 10 * MINUTE_MS, listing });
    plan.addProjects(['a']);
    plan.reportPage(0, lastPageOf([{ id: 'a', updated_at: 1 }]), beforeMs);
    readAll(plan, ['a'], beforeMs);

    expect([0, 1_000].map((passedMs) => nextOf(plan, afterMs + passedMs, 1)[0])).toEqual(['wait', 'list']);
  });

  test('does not hold back the permit that is kept for what the list shows next', () => {
    const listing = { usualIntervalMs: MINUTE_MS, hintIntervalMsMin: 1_000 };
    const plan = createPollPlanner({ ...limits, pollIntervalMsMin: 0, listing });
    plan.addProjects(['a']);
    const recall = { foundCount: 200, missedCount: 0 };
    plan.restoreHints([{ name: 'updated_at', recall, hitCount: 200, moveCount: 200 }]);
    plan.reportPage(0, lastPageOf([{ id: 'a' }]), beforeMs);
    for (let decision = plan.next(beforeMs); decision.kind === 'poll'; decision = plan.next(beforeMs))
      plan.report(decision.projectId, result, beforeMs);
    expect(plan.next(afterMs)).toMatchObject({ kind: 'wait' });

    expect(nextOf(plan, afterMs + 1_000, 1)).not.toEqual(['wait']);
  });
});

describe('whether an invocation goes on', () => {
  test('is a project that has waited for four rounds, although the list has shown every transition', () => {
    const listing = { usualIntervalMs: MINUTE_MS, hintIntervalMsMin: 1_000 };
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 60, listing });
    const page = lastPageOf(named(14).map((id) => ({ id, updated_at: 1 })));
    plan.addProjects(named(14));
    const recall = { foundCount: 200, missedCount: 0 };
    plan.restoreHints([{ name: 'updated_at', recall, hitCount: 200, moveCount: 200 }]);
    plan.reportPage(0, page, 0);
    plan.next(0);
    for (const id of named(14)) plan.report(id, result, 0);
    plan.reportPage(0, page, 0);

    expect([59_999, 60_000].map((nowMs) => plan.need(0, nowMs).hasWork)).toEqual([false, true]);
  });

  test('does not depend on a page of the list that is being read', () => {
    const plan = createPollPlanner(limits);
    plan.addProjects(['a']);
    plan.reportPage(0, lastPageOf([{ id: 'a' }]), 0);
    readAll(plan, ['a'], MINUTE_MS - 1);
    expect(plan.need(MINUTE_MS - 1, MINUTE_MS - 1).hasReadAll).toBe(true);

    expect(nextOf(plan, MINUTE_MS, 1)).toEqual(['list']);
    expect(plan.need(MINUTE_MS - 1, MINUTE_MS).hasReadAll).toBe(true);
  });
});

describe('what is learned of the fields of the list', () => {
  const evidenceOf = (plan: PollPlanner) => plan.hintEvidence().find(({ name }) => name === 'updated_at');
  const aPlan = () => {
    const plan = createPollPlanner(limits);
    plan.addProjects(['a']);
    plan.reportPage(0, lastPageOf([{ id: 'a', updated_at: 1 }]), 0);
    readAll(plan, ['a'], 0);
    return plan;
  };

  test('is that a move was true, also when the first reading after it failed', () => {
    const plan = aPlan();
    plan.reportPage(0, lastPageOf([{ id: 'a', updated_at: 2 }]), 1_000);
    expect(nextOf(plan, 2_000, 1)).toEqual(['a']);
    plan.report('a', { ...result, hasFailed: true }, 2_000);
    expect(nextOf(plan, 7_000, 1)).toEqual(['a']);
    plan.report('a', { ...result, foundTransition: true }, 7_000);

    expect(evidenceOf(plan)).toMatchObject({ hitCount: 1, moveCount: 1 });
  });

  test('is a miss only once a reading of the list shows nothing that began after the transition was found', () => {
    const plan = aPlan();
    const unchanged = lastPageOf([{ id: 'a', updated_at: 1 }]);
    expect(nextOf(plan, MINUTE_MS, 2).toSorted()).toEqual(['a', 'list']);
    plan.report('a', { ...result, foundTransition: true }, MINUTE_MS + 100);
    plan.reportPage(0, unchanged, MINUTE_MS + 200);
    expect(evidenceOf(plan)?.recall).toEqual({ foundCount: 0, missedCount: 0 });

    expect(nextOf(plan, 2 * MINUTE_MS + 200, 2)).toContain('list');
    plan.reportPage(0, unchanged, 2 * MINUTE_MS + 300);
    expect(evidenceOf(plan)?.recall).toEqual({ foundCount: 0, missedCount: 1 });
  });
});
