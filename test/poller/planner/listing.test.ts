/** Tests when the pages of the project list have shown the whole list, and how soon they do. */

import { describe, expect, test } from 'vitest';
import type { ShownPage } from '../../../functions/poller/planner/list-hints.ts';
import { createPollPlanner, type PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';

const MINUTE_MS = 60_000;

function aPlanner(requestsPerMinute = 700, hintIntervalMsMin?: number) {
  const plan = createPollPlanner({
    pollIntervalMsMin: 5_000,
    requestsPerMinute,
    failureBackoffMsMax: 5 * MINUTE_MS,
    listing: { usualIntervalMs: MINUTE_MS, hintIntervalMsMin },
  });
  plan.askForListing();
  return plan;
}

/** Returns a page with this project, from which the list goes on at `cursor`. */
function page(id: string, cursor?: string, fields: Partial<ShownPage> = {}): ShownPage {
  return { rows: [{ id }], unavailableProjectIds: [], malformedRowCount: 0, cursor, ...fields };
}

function begin(plan: PollPlanner, nowMs: number) {
  const decision = plan.next(nowMs);
  return decision.kind === 'list' ? [decision.page, decision.cursor] : decision.kind;
}

/** Reads so many pages of one project each, one after the other, and returns the listing that has ended with the last one. */
function readAll(plan: PollPlanner, pageCount: number, nowMs: number) {
  const ended = Array.from({ length: pageCount }, (_, place) => {
    begin(plan, nowMs);
    return plan.reportPage(place, page(`p${place}`, place + 1 < pageCount ? `p${place}` : undefined), nowMs);
  });
  return ended.at(-1);
}

describe('a listing', () => {
  test('begins at once when it is asked for first, and has ended when every page was read, each from where the one before ended', () => {
    const plan = aPlanner();
    expect(begin(plan, 0)).toEqual([0, undefined]);
    expect(begin(plan, 1)).toBe('wait');
    expect(plan.reportPage(0, page('a', 'after a', { malformedRowCount: 2 }), 2)).toBeUndefined();
    expect(begin(plan, 3)).toEqual([1, 'after a']);
    const listing = plan.reportPage(1, page('b', undefined, { unavailableProjectIds: ['c'] }), 4);

    expect(listing).toMatchObject({ startedAtMs: 0, unavailableCount: 1, malformedRowCount: 2, end: 'end' });
  });

  test('goes on behind a page that fails twice, which leaves a doubt, and comes back to that page', () => {
    const plan = aPlanner();
    readAll(plan, 3, 0);
    const nowMs = 2 * MINUTE_MS;
    expect(begin(plan, nowMs)).toEqual([0, undefined]);
    plan.reportPage(0, page('p0', 'p0'), nowMs);
    for (const atMs of [nowMs, nowMs + 5_000]) {
      expect(begin(plan, atMs)).toEqual([1, 'p0']);
      plan.reportPage(1, undefined, atMs);
    }
    expect(begin(plan, nowMs + 5_001)).toEqual([2, 'p1']);
    const listing = plan.reportPage(2, page('p2'), nowMs + 5_002);

    expect(listing).toMatchObject({ startedAtMs: nowMs, malformedRowCount: 1, end: 'end' });
    expect(begin(plan, nowMs + 15_000)).toEqual([1, 'p0']);
  });

  test('keeps an invocation going until it has ended, but not while a page of it fails', () => {
    const plan = aPlanner();
    begin(plan, 0);
    plan.reportPage(0, page('a', 'after a'), 0);
    expect(plan.need(0, 0).hasWork).toBe(true);
    begin(plan, 0);
    plan.reportPage(1, undefined, 0);
    expect(plan.need(0, 0).hasWork).toBe(false);
    expect(begin(plan, 5_000)).toEqual([1, 'after a']);
    plan.reportPage(1, page('b'), 5_000);

    expect(plan.need(0, 5_000).hasWork).toBe(false);
  });

  test('does not count a page that was read from a place at which the page before ends no more', () => {
    const plan = aPlanner();
    begin(plan, 0);
    plan.reportPage(0, page('a', 'after a'), 0);
    expect(begin(plan, 1)).toEqual([1, 'after a']);
    plan.reportPage(0, page('b', 'after b'), 2);
    expect(plan.reportPage(1, page('c'), 3)).toBeUndefined();
    expect(begin(plan, 4)).toEqual([1, 'after b']);

    expect(plan.reportPage(1, page('c'), 5)).toMatchObject({ startedAtMs: 0 });
  });

  test('ends with a page that ends the list, even when it has come further', () => {
    const plan = aPlanner();
    begin(plan, 0);
    plan.reportPage(0, page('a', 'after a'), 0);
    begin(plan, 1);
    plan.reportPage(1, page('b', 'after b'), 1);

    expect(plan.reportPage(0, page('a'), 2)).toMatchObject({ startedAtMs: 0, end: 'end' });
  });

  test('is read for its projects alone: a reading for hints begins none', () => {
    const plan = aPlanner(700, 1_000);
    plan.addProjects(['p0']);
    plan.report(
      'p0',
      { hasFailed: false, foundTransition: false, hasLeftovers: false, activity: undefined },
      0,
    );
    readAll(plan, 1, 0);
    for (let nowMs = 1_000; nowMs < MINUTE_MS; nowMs += 1_000) {
      if (begin(plan, nowMs)[0] === 0) expect(plan.reportPage(0, page('p0'), nowMs)).toBeUndefined();
    }

    expect(readAll(plan, 1, MINUTE_MS + 1_000)).toMatchObject({ startedAtMs: MINUTE_MS + 1_000 });
  });

  test('assumes that a list repeats itself after a hundred pages without a new project', () => {
    const plan = aPlanner();
    plan.addProjects(['a']);
    const ends = Array.from({ length: 110 }, (_, place) => {
      const decision = plan.next(0);
      if (decision.kind !== 'list') return decision.kind;
      return plan.reportPage(decision.page, page('a', `cursor ${place}`), 0)?.end;
    });

    expect(ends.indexOf('barren_pages')).toBe(101);
    expect(begin(plan, 1)).toBe('wait');
  });
});

describe('the next listing', () => {
  const startsAfterMs = (plan: PollPlanner, nowMs = 0) => {
    const decision = plan.next(nowMs);
    return decision.kind === 'wait' ? decision.untilMs : 0;
  };

  test('of many pages comes sooner when it is asked for, and no sooner than the usual one of a small account', () => {
    const plan = aPlanner();
    readAll(plan, 13, 0);
    expect(startsAfterMs(plan)).toBeCloseTo((13 * MINUTE_MS) / 3.5);
    plan.askForListing();
    expect(startsAfterMs(plan)).toBe(MINUTE_MS);
  });

  test('that is asked for takes a twentieth of a low rate', () => {
    const plan = aPlanner(120);
    readAll(plan, 13, 0);
    plan.askForListing();

    expect(startsAfterMs(plan)).toBeCloseTo((13 * MINUTE_MS) / 6);
  });

  test('comes at its usual time once the one that was asked for has begun', () => {
    const plan = aPlanner();
    readAll(plan, 13, 0);
    plan.askForListing();
    readAll(plan, 13, MINUTE_MS);

    expect(startsAfterMs(plan, MINUTE_MS)).toBeCloseTo(MINUTE_MS + (13 * MINUTE_MS) / 3.5);
  });
});
