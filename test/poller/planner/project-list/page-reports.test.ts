import { describe, expect, test } from 'vitest';
import { createPageReports } from '../../../../functions/poller/planner/project-list/page-reports.ts';
import {
  createPageTurns,
  type ListingLimits,
} from '../../../../functions/poller/planner/project-list/page-turns.ts';
import { createTurnQueues } from '../../../../functions/poller/planner/queues/turn-queues.ts';
import { aTurn, turnSlots } from '../queues/turns.ts';

const MINUTE_MS = 60_000;
const shown = (fields: { cursor?: string; cold?: number; isEmpty?: boolean; movedCount?: number } = {}) => ({
  isEmpty: false,
  cursor: undefined,
  cold: 0,
  movedCount: 0,
  ...fields,
});

/**
 * Sets up ten turns at ten permits a second. A page is read at least once a minute, unless `listing` says otherwise.
 */
function setUp(listing: Partial<ListingLimits> = {}, recall = 0.5) {
  const limits = {
    requestsPerMinute: 600,
    pollIntervalMsMin: 5_000,
    failureBackoffMsMax: 60_000,
    listing: { intervalMsMax: MINUTE_MS, hintIntervalMsMin: 1_000, ...listing },
  };
  const list = createPageTurns(limits.listing, limits.requestsPerMinute, turnSlots);
  const queues = createTurnQueues(limits, () => 10);
  let known = recall;
  const reports = createPageReports(list, queues, { recall: () => known, provenRecall: () => known }, limits);
  return {
    list,
    queues,
    reports,
    setRecall: (value: number) => {
      known = value;
    },
  };
}

describe('a page that was read', () => {
  test('rests for its interval and has a deadline from then on', () => {
    const { list, queues, reports } = setUp();
    reports.report(0, shown(), 1_000);
    const [turn] = list.turns;

    expect(turn).toMatchObject({ polledAtMs: 1_000, isUnderWay: false, failureCount: 0, cold: 0 });
    expect(queues.rests.first()).toMatchObject({ item: turn, priority: 61_000 });
    expect(queues.byWeight.take()).toBeUndefined();
    // Sixty seconds after its reading the page is late. It has to be read within two rounds of ten turns, which take
    // two seconds, so it is due 200 ms before they end.
    expect([
      queues.deadlines.due(1_000 + MINUTE_MS),
      queues.deadlines.due(1_000 + MINUTE_MS + 1_799),
    ]).toEqual([undefined, undefined]);
    expect(queues.deadlines.due(1_000 + MINUTE_MS + 1_800)).toBe(turn);
  });

  test('is not late before its interval is over', () => {
    const { queues, reports } = setUp();
    reports.report(0, shown(), 1_000);

    expect([queues.deadlines.due(60_999), queues.deadlines.due(62_900)]).toEqual([undefined, undefined]);
  });

  test('brings the next page, which is read first', () => {
    const { list, queues, reports } = setUp();
    const waiting = aTurn('waiting', { finish: 5 });
    queues.byWeight.join(waiting);
    reports.report(0, shown({ cursor: 'a' }), 0);

    expect(queues.byWeight.take()).toBe(list.turns[1]);
    expect(queues.byWeight.take()).toBe(waiting);
  });

  test('gives the next page a deadline at once', () => {
    const { list, queues, reports } = setUp();
    reports.report(0, shown({ cursor: 'a' }), 0);

    expect(queues.deadlines.due(1_799)).toBeUndefined();
    expect(queues.deadlines.due(1_800)).toBe(list.turns[1]);
  });

  test('drops the pages that have gone at every place', () => {
    const { queues, reports } = setUp();
    reports.report(0, shown({ cursor: 'a' }), 0);
    reports.report(0, shown(), 1);

    expect(queues.byWeight.take()).toBeUndefined();
    expect(queues.deadlines.due(1_000_000)).toBeUndefined();
  });

  test('comes by its weight as a source of hints: the oftener the more it shows and the more is expected', () => {
    const { list, queues, reports, setRecall } = setUp();
    reports.report(0, shown({ cold: 4 }), 0);
    const [turn = aTurn('none')] = list.turns;
    expect(turn.stride).toBeCloseTo(Math.sqrt(0.5 / (0.5 * 4)));
    expect(turn.finish).toBeCloseTo(turn.stride);
    expect(queues.byWeight.take()).toBe(turn);
    setRecall(0.8);
    reports.report(0, shown({ cold: 4 }), 0);

    expect(turn.stride).toBeCloseTo(Math.sqrt(0.2 / (0.8 * 4)));
  });

  test('comes more often once more projects move on it than before', () => {
    const { list, reports } = setUp();
    const [turn = aTurn('none')] = list.turns;
    reports.report(0, shown({ cold: 1e-4 }), 0);
    const usual = list.turns[0]?.stride ?? turn.stride;
    for (let second = 1; second <= 60; second++)
      reports.report(0, shown({ cold: 1e-4, movedCount: 1 }), second * 1_000);

    expect(list.turns[0]?.cold).toBeGreaterThan(4e-4);
    expect(list.turns[0]?.stride).toBeLessThan(usual / 2);
  });

  test('comes one stride after its reading began', () => {
    const { list, queues, reports } = setUp();
    reports.report(0, shown({ cold: 4 }), 0);
    const page = queues.byWeight.take() ?? aTurn('none');
    const begunAt = queues.byWeight.virtualTime();
    queues.byWeight.begin(page);
    queues.byWeight.join(aTurn('project', { finish: begunAt + 100 }));
    queues.byWeight.take();
    reports.report(0, shown({ cold: 4 }), 0);

    expect(list.turns[0]?.finish).toBeCloseTo(begunAt + page.stride);
  });

  test('comes by its age alone when the list gives no hints', () => {
    const { queues, reports } = setUp({ hintIntervalMsMin: undefined });
    reports.report(0, shown({ cold: 4 }), 0);

    expect(queues.byWeight.take()).toBeUndefined();
  });

  test('and has gone meanwhile is not queued', () => {
    const { list, queues, reports } = setUp();
    reports.report(3, shown(), 0);

    expect(list.turns).toHaveLength(1);
    expect(queues.rests.size).toBe(0);
  });
});

describe('a page that could not be read', () => {
  test('rests for its back-off, and changes nothing that is known of the list', () => {
    const { list, queues, reports } = setUp();
    reports.report(0, shown({ cursor: 'a', cold: 4 }), 0);
    reports.report(0, undefined, 1_000);
    reports.report(0, undefined, 2_000);
    const [turn] = list.turns;

    expect(turn).toMatchObject({ failureCount: 2, cold: 4 });
    expect(queues.rests.first()).toMatchObject({ item: turn, priority: 12_000 });
    expect(list.turns).toHaveLength(2);
  });
});

describe('the list has shown every transition', () => {
  test('when it is proved and each page was read since then', () => {
    const { reports } = setUp({}, 0.9);
    reports.report(0, shown({ cursor: 'a' }), 1_000);
    reports.report(1, shown(), 2_000);

    expect(reports.haveShownAllSince(1_000)).toBe(true);
    expect(reports.haveShownAllSince(1_001)).toBe(false);
  });

  test('never before its fields have moved with nine tenths of the transitions', () => {
    const { reports } = setUp({}, 0.899);
    reports.report(0, shown(), 1_000);

    expect(reports.haveShownAllSince(0)).toBe(false);
  });

  test('never while a page of it is being read', () => {
    const { list, reports } = setUp({}, 1);
    reports.report(0, shown(), 1_000);
    const [turn] = list.turns;
    if (turn !== undefined) turn.isUnderWay = true;

    expect(reports.haveShownAllSince(0)).toBe(false);
  });

  test('never before any page was read', () => {
    expect(setUp({}, 1).reports.haveShownAllSince(0)).toBe(false);
  });
});

describe('the list', () => {
  test('is shown while the last reading of each page has succeeded, also of a page that is gone', () => {
    const { reports } = setUp();
    expect(reports.areShown()).toBe(false);
    reports.report(0, shown({ cursor: 'a' }), 0);
    expect(reports.areShown()).toBe(true);
    reports.report(1, undefined, 0);
    expect(reports.areShown()).toBe(false);
    reports.report(1, shown(), 1_000);
    expect(reports.areShown()).toBe(true);
    reports.report(1, undefined, 2_000);
    reports.report(0, shown({ isEmpty: true }), 3_000);

    expect(reports.areShown()).toBe(true);
  });

  test('expects of a mean page what it expects of those with projects', () => {
    const { reports } = setUp();
    expect(reports.meanPerMs()).toBe(Number.POSITIVE_INFINITY);
    reports.report(0, shown({ isEmpty: true }), 0);
    expect(reports.meanPerMs()).toBe(Number.POSITIVE_INFINITY);
    reports.report(0, shown({ cursor: 'a', cold: 4 }), 0);
    reports.report(1, shown({ cursor: 'b', cold: 2 }), 0);
    reports.report(2, shown({ isEmpty: true }), 0);

    expect(reports.meanPerMs()).toBe(3);
    reports.report(1, undefined, 1_000);

    expect(reports.meanPerMs()).toBe(Number.POSITIVE_INFINITY);
  });

  test('forgets what a page has shown that is gone', () => {
    const { list, reports } = setUp();
    const readBoth = (nowMs: number, movedCount: number) => {
      reports.report(0, shown({ cursor: 'a', cold: 1e-4 }), nowMs);
      reports.report(1, shown({ cold: 1e-4, movedCount }), nowMs);
    };
    for (let second = 0; second <= 60; second++) readBoth(second * 1_000, 1);
    expect(list.turns[0]?.cold).toBeGreaterThan(2e-4);
    reports.report(0, shown({ cold: 1e-4 }), 61_000);

    expect(list.turns).toHaveLength(1);
    expect(list.turns[0]?.cold).toBeLessThan(1e-4);
  });

  test('is not shown where it is read only to find new projects', () => {
    const { reports } = setUp({ hintIntervalMsMin: undefined });
    reports.report(0, shown(), 0);

    expect(reports.areShown()).toBe(false);
  });
});
