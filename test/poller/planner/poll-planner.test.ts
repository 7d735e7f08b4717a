import { describe, expect, test } from 'vitest';
import type { ProjectRow, ShownPage } from '../../../functions/poller/planner/list-hints.ts';
import {
  createPollPlanner,
  type PollPlanner,
  type PollResult,
} from '../../../functions/poller/planner/poll-planner.ts';
import type { ProjectActivity } from '../../../functions/poller/planner/project-activity.ts';
import { runPlanner } from './planner-under-load.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const limits = {
  pollIntervalMsMin: 5_000,
  requestsPerMinute: 350,
  failureBackoffMsMax: 60_000,
  listing: undefined,
};
const result = {
  hasFailed: false,
  foundTransition: false,
  hasLeftovers: false,
  activity: undefined,
};
const quiet: ProjectActivity = {
  openSinceMs: undefined,
  uses: [],
  arrivalCount: 0,
  observedMs: DAY_MS,
};

const listing = { usualIntervalMs: MINUTE_MS, hintIntervalMsMin: 1_000 };

/** Returns the last page of the list. */
function pageOf(rows: readonly ProjectRow[], end: Partial<ShownPage> = {}) {
  return { rows, unavailableProjectIds: [], malformedRowCount: 0, cursor: undefined, ...end };
}

function aPlanner(...ids: readonly string[]): PollPlanner {
  const created = createPollPlanner(limits);
  created.addProjects(ids);
  return created;
}

/** Polls at the pace of the rate limit, and counts per project. */
function pollFor(
  plan: PollPlanner,
  durationMs: number,
  activityAt: (projectId: string, nowMs: number) => ProjectActivity,
) {
  const counts = new Map<string, number>();
  for (let nowMs = 0; nowMs < durationMs; ) {
    const decision = plan.next(nowMs);
    if (decision.kind === 'wait') nowMs = Math.max(nowMs + 1, Math.ceil(decision.untilMs));
    else if (decision.kind === 'list') plan.reportPage(decision.page, pageOf([]), nowMs);
    else {
      nowMs += MINUTE_MS / limits.requestsPerMinute;
      const { projectId } = decision;
      counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
      plan.report(projectId, { ...result, activity: activityAt(projectId, nowMs) }, nowMs);
    }
  }
  return counts;
}

describe('the planner', () => {
  test('hands every project out once, and none twice while it is under way', () => {
    const plan = aPlanner('a', 'b');
    const first = [plan.next(0), plan.next(0)].map((each) => each.kind === 'poll' && each.projectId);

    expect(new Set(first)).toEqual(new Set(['a', 'b']));
    expect(plan.next(0)).toEqual({ kind: 'wait', untilMs: Number.POSITIVE_INFINITY });
  });

  test('adds projects to those that it has, and removes some of them', () => {
    const plan = aPlanner('a', 'b');
    plan.addProjects(['b', 'c']);
    plan.removeProjects(['a', 'unknown']);
    const chosen = [plan.next(0), plan.next(0)].map((each) => each.kind === 'poll' && each.projectId);

    expect(new Set(chosen)).toEqual(new Set(['b', 'c']));
    expect(plan.next(0)).toEqual({ kind: 'wait', untilMs: Number.POSITIVE_INFINITY });
  });

  test('polls no project more often than the configured interval', () => {
    const plan = aPlanner('a');
    plan.next(0);
    plan.report('a', result, 1_000);

    expect(plan.next(5_999)).toEqual({ kind: 'wait', untilMs: 6_000 });
    expect(plan.next(6_000)).toEqual({ kind: 'poll', projectId: 'a' });
  });

  // Seed 500060012 of the wide world: the project waited for as long as if it had been read.
  test('a project whose poll was cut short before it read a page is the next one, as if it had not had its turn', () => {
    const plan = aPlanner('a', 'b');
    plan.next(0);
    plan.next(0);
    plan.report('b', result, 0);
    plan.report('a', { ...result, wasCutShort: true }, 100);

    expect(plan.next(100)).toEqual({ kind: 'poll', projectId: 'a' });
    expect(plan.next(100)).toMatchObject({ kind: 'wait' });
  });

  test('a command that came while the poll was under way that was cut short asks for its project all the same', () => {
    const plan = aPlanner('a');
    plan.next(0);
    plan.askAtOnce('a');
    plan.report('a', { ...result, wasCutShort: true }, 100);

    expect(plan.waitingCount()).toBe(1);
  });

  test('a command or a hint makes a project the next one, whatever its interval', () => {
    const plan = aPlanner('a', 'b', 'c');
    for (const id of ['a', 'b', 'c']) {
      plan.next(0);
      plan.report(id, result, 0);
    }
    plan.askAtOnce('c');

    expect(plan.next(1_000)).toEqual({ kind: 'poll', projectId: 'c' });
  });

  test('a hint that arrives while its project is being polled asks for one more poll', () => {
    const plan = aPlanner('a');
    plan.next(0);
    plan.askAtOnce('a');
    plan.report('a', result, 100);

    expect(plan.next(100)).toEqual({ kind: 'poll', projectId: 'a' });
    plan.report('a', result, 200);
    expect(plan.next(200)).toMatchObject({ kind: 'wait' });
  });

  test('polls four times as often where sixteen times as much is to be expected', () => {
    const ids = Array.from({ length: 400 }, (_, index) => `p${index}`);
    const busy = { ...quiet, arrivalCount: 320 };
    const usual = { ...quiet, arrivalCount: 20 };
    const counts = pollFor(aPlanner(...ids), 120 * MINUTE_MS, (id) => (id === 'p0' ? busy : usual));

    const ratio = (counts.get('p0') ?? 0) / (counts.get('p1') ?? 1);
    expect(ratio).toBeGreaterThan(3.2);
    expect(ratio).toBeLessThan(4.8);
  });

  test('polls an open operation much more often than a quiet project, and less as it ages', () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => `p${index}`);
    const activityAt = (openSinceMs: number) => (id: string) => ({
      ...quiet,
      arrivalCount: 8,
      openSinceMs: id === 'p0' ? openSinceMs : undefined,
    });
    const young = pollFor(aPlanner(...ids), 20 * MINUTE_MS, (id, nowMs) => activityAt(nowMs)(id));
    const old = pollFor(aPlanner(...ids), 20 * MINUTE_MS, (id, nowMs) => activityAt(nowMs - DAY_MS)(id));

    expect(young.get('p0')).toBeGreaterThan(10 * (old.get('p0') ?? 0));
    expect(old.get('p0')).toBeGreaterThanOrEqual(young.get('p1') ?? 0);
  });

  test('starves no project, however many others are hot', () => {
    const ids = Array.from({ length: 50 }, (_, index) => `p${index}`);
    const counts = pollFor(aPlanner(...ids), 10 * MINUTE_MS, (id, nowMs) =>
      id === 'p0' ? quiet : { ...quiet, openSinceMs: nowMs },
    );

    expect(counts.get('p0')).toBeGreaterThanOrEqual(9);
  });

  test('leaves a project that fails alone for longer each time, up to a limit', () => {
    const plan = aPlanner('a');
    let nowMs = 0;
    const pauses = Array.from({ length: 6 }, () => {
      plan.next(nowMs);
      plan.report('a', { ...result, hasFailed: true }, nowMs);
      const decision = plan.next(nowMs);
      const pauseMs = decision.kind === 'wait' ? decision.untilMs - nowMs : 0;
      nowMs += pauseMs;
      return pauseMs;
    });

    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000]);
  });

  test('goes on where another process has stopped: what is known to be busy comes before what is quiet', () => {
    const ids = Array.from({ length: 400 }, (_, index) => `p${index}`);
    const history = (arrivalCount: number) => ({ arrivalCount, observedMs: DAY_MS });
    const histories = new Map(ids.map((id) => [id, history(id === 'p399' ? 1_000 : 1)]));
    const busyPolls = (known: boolean) => {
      const plan = createPollPlanner(limits);
      plan.addProjects(ids, known ? histories : undefined);
      const activityAt = (id: string) => ({ ...quiet, ...histories.get(id) });
      return pollFor(plan, MINUTE_MS, activityAt).get('p399') ?? 0;
    };

    expect(busyPolls(true)).toBeGreaterThanOrEqual(5);
    expect(busyPolls(false)).toBeLessThanOrEqual(1);
  });

  test('forgets projects that are gone and starts with new ones at once', () => {
    const plan = aPlanner('a', 'b');
    plan.next(0);
    plan.report('a', result, 0);
    plan.removeProjects(['b']);
    plan.addProjects(['c']);

    expect(plan.next(0)).toEqual({ kind: 'poll', projectId: 'c' });
    expect(plan.next(0)).toMatchObject({ kind: 'wait' });
  });
});

describe('what one project asks for', () => {
  const ids = (plan: PollPlanner, nowMs: number, count: number) =>
    Array.from({ length: count }, () => {
      const decision = plan.next(nowMs);
      return decision.kind === 'poll' ? decision.projectId : decision.kind;
    });
  /** Hands every project out, and reports them in this order: they come again within their stride. */
  const readInOrder = (plan: PollPlanner, order: readonly string[]) => {
    ids(plan, 0, order.length);
    for (const id of order) plan.report(id, { ...result, activity: quiet }, 0);
  };

  test('is nothing when it is not polled: a report of it changes nothing', () => {
    const plan = aPlanner('a');
    plan.report('unknown', result, 0);
    plan.wish('unknown');

    expect(plan.historyOf('unknown')).toBeUndefined();
    expect(plan.waitingCount()).toBe(0);
    expect(ids(plan, 0, 2)).toEqual(['a', 'wait']);
  });

  test('is a reading before its turn when a caller wishes for it, once its interval is over', () => {
    const plan = aPlanner('a', 'b', 'c');
    readInOrder(plan, ['b', 'c', 'a']);
    plan.wish('c');

    expect(plan.waitingCount()).toBe(1);
    expect(ids(plan, 5_000, 3)).toEqual(['c', 'b', 'a']);
    expect(plan.waitingCount()).toBe(0);
  });

  test('is a reading after the poll interval when its events did not reach the bus, before those by weight', () => {
    const plan = aPlanner('a', 'b', 'c');
    readInOrder(plan, ['b', 'a', 'c']);
    plan.askAtOnce('a');
    expect(ids(plan, 1_000, 1)).toEqual(['a']);
    plan.report('a', { ...result, hasLeftovers: true }, 1_000);

    expect(plan.next(1_000)).toEqual({ kind: 'wait', untilMs: 5_000 });
    expect(ids(plan, 6_000, 3)).toEqual(['a', 'b', 'c']);
  });

  test('with events that did not reach the bus is no reading before the poll interval is over', () => {
    const plan = aPlanner('a');
    ids(plan, 0, 1);
    plan.report('a', { ...result, hasLeftovers: true }, 1_000);

    expect(plan.next(5_999)).toEqual({ kind: 'wait', untilMs: 6_000 });
    expect(ids(plan, 6_000, 1)).toEqual(['a']);
  });

  test('is soon a reading, once its compute can be suspended', () => {
    const names = Array.from({ length: 300 }, (_, place) => `p${place}`);
    const counts = pollFor(aPlanner('busy', ...names), 10 * MINUTE_MS, (id, nowMs) =>
      // A second after each reading, the compute was last used five minutes ago.
      id === 'busy'
        ? {
            ...quiet,
            uses: [{ computeId: 'ep', beganMs: nowMs + 1_000 - 5 * MINUTE_MS, endedMs: undefined }],
          }
        : quiet,
    );

    expect(counts.get('busy')).toBeGreaterThan(3 * (counts.get('p7') ?? 0));
  });

  test('with a compute that runs is less often a reading while something begins in all projects', () => {
    const projectIds = ['busy', ...Array.from({ length: 300 }, (_, place) => `p${place}`)];
    const readCountWith = (isDeployed: boolean) => {
      const run = runPlanner({ projectIds, requestsPerMinute: 120, seed: 1 });
      run.pass(20 * MINUTE_MS, {
        activityOf: (id, nowMs) =>
          id === 'busy'
            ? { ...quiet, uses: [{ computeId: 'ep', beganMs: nowMs - 5 * MINUTE_MS, endedMs: undefined }] }
            : quiet,
        resultOf: (id) => ({ foundTransition: isDeployed && id !== 'busy' }),
      });
      return run.readCount('busy');
    };

    expect(readCountWith(true)).toBeLessThan(readCountWith(false) / 1.5);
  });
});

describe('the reason to go on', () => {
  const poll = (plan: PollPlanner, nowMs: number, fields: Partial<PollResult> = {}) => {
    const decision = plan.next(nowMs);
    if (decision.kind === 'poll')
      plan.report(decision.projectId, { ...result, activity: quiet, ...fields }, nowMs);
    return decision.kind;
  };

  test('is every project that was not read since, except those that fail', () => {
    const plan = aPlanner('a', 'b');
    poll(plan, 0);
    expect(plan.need(0, 0).hasReadAll).toBe(false);
    poll(plan, 0, { hasFailed: true });
    expect(plan.need(0, 0).hasReadAll).toBe(true);
    expect(plan.need(60_000, 60_000).hasReadAll).toBe(false);
  });

  test('is a hint until it was followed, and events that did not reach the bus', () => {
    const plan = aPlanner('a');
    poll(plan, 0);
    plan.askAtOnce('a');
    expect(plan.need(0, 10).hasWork).toBe(true);
    const decision = plan.next(10);
    expect(plan.need(0, 20).hasWork).toBe(true);
    plan.report('a', { ...result, activity: quiet, hasLeftovers: true }, 20);
    expect(decision.kind).toBe('poll');
    expect(plan.need(0, 30).hasWork).toBe(true);
    poll(plan, 6_000);
    expect(plan.need(0, 6_000).hasWork).toBe(false);
  });

  test('is an open operation, the younger the more', () => {
    const plan = aPlanner('a');
    poll(plan, 1_000, { activity: { ...quiet, openSinceMs: 0 } });

    expect(plan.need(0, 1_000).expectedTransitionsPerMs).toBeGreaterThan(1 / 5_000);
    expect(plan.need(0, 3_600_000).expectedTransitionsPerMs).toBeLessThan(1 / 60_000);
  });

  test('is gone with one reading of a list that has proved itself, until a project is older than the cap', () => {
    const plan = createPollPlanner({ ...limits, listing });
    plan.addProjects(['a', 'b']);
    const proven = { recall: { foundCount: 200, missedCount: 2 }, hitCount: 200, moveCount: 210 };
    plan.restoreHints([{ name: 'updated_at', ...proven }]);
    for (let count = 0; count < 2; count++) poll(plan, 0);
    expect(plan.need(30_000, 30_000)).toMatchObject({ hasReadAll: false, hasWork: false });
    plan.reportPage(0, pageOf([]), 30_000);

    expect(plan.need(30_000, 30_000)).toMatchObject({ hasReadAll: true, hasWork: false });
    expect(plan.need(30_001, 30_001)).toMatchObject({ hasReadAll: false });
    expect(plan.need(30_000, 61_000)).toMatchObject({ hasReadAll: true, hasWork: true });
  });

  test('is a new project that was never read', () => {
    const plan = aPlanner('a', 'b');
    plan.next(0);

    expect(plan.need(0, 0).hasWork).toBe(true);
  });

  test('is no project that had failed before the invocation began', () => {
    const plan = aPlanner('a');
    plan.next(0);
    plan.report('a', { ...result, hasFailed: true }, 0);

    expect(plan.need(30_000, 30_000).hasReadAll).toBe(true);
  });

  test('counts projects and pages of the list in the round after which a project is overdue', () => {
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 60, listing });
    const ids = Array.from({ length: 15 }, (_, place) => `p${place}`);
    plan.addProjects(ids);
    for (const [place] of ids.slice(0, 5).entries())
      plan.reportPage(place, pageOf([{ id: `p${place}` }], place < 4 ? { cursor: `p${place}` } : {}), 0);
    for (const _ of ids) plan.next(0);
    for (const id of ids) plan.report(id, { ...result, activity: quiet }, 0);

    expect(plan.need(0, 79_999).hasWork).toBe(false);
    expect(plan.need(0, 80_000).hasWork).toBe(true);
  });
});

describe('the pages of the project list', () => {
  const full = pageOf([{ id: 'a' }], { cursor: 'a' });

  /** Polls every project and page that has a turn now, and returns which pages had one. */
  function pagesAt(plan: PollPlanner, nowMs: number) {
    const pages: unknown[] = [];
    for (let decision = plan.next(nowMs); decision.kind !== 'wait'; decision = plan.next(nowMs)) {
      if (decision.kind === 'list') pages.push([decision.page, decision.cursor]);
      else plan.report(decision.projectId, { ...result, activity: quiet }, nowMs);
    }
    return pages;
  }

  test('have turns of their own: each is read from where the one before it ended', () => {
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 700, listing });
    plan.addProjects(['a', 'b', 'c']);
    expect(pagesAt(plan, 0)).toEqual([]);
    plan.reportPage(0, full, 0);
    expect(pagesAt(plan, 1)).toEqual([[1, 'a']]);
    plan.reportPage(1, pageOf([{ id: 'b' }, { id: 'c' }]), 1);

    expect(pagesAt(plan, 2)).toEqual([]);
    expect(pagesAt(plan, MINUTE_MS + 1)).toEqual([[0, undefined]]);
    plan.reportPage(0, pageOf([{ id: 'a' }], { cursor: 'b' }), MINUTE_MS + 1);
    expect(pagesAt(plan, MINUTE_MS + 1)).toEqual([[1, 'b']]);
  });

  test('are read at least once in the longest interval, also when they give no hints or the account is empty', () => {
    const plan = createPollPlanner({
      ...limits,
      requestsPerMinute: 700,
      listing: { ...listing, hintIntervalMsMin: undefined },
    });
    plan.reportPage(0, pageOf([]), 0);

    expect(pagesAt(plan, MINUTE_MS - 1)).toEqual([]);
    expect(pagesAt(plan, MINUTE_MS)).toHaveLength(1);
  });

  test('are read less often when they are many, and still every few minutes', () => {
    const intervalS = (pageCount: number, requestsPerMinute: number) => {
      const silent = { ...listing, hintIntervalMsMin: undefined };
      const plan = createPollPlanner({ ...limits, requestsPerMinute, listing: silent });
      // The pages are read twice, because only the last of them shows how many there are.
      for (let count = 0; count < 2 * pageCount; count++) {
        const page = count % pageCount;
        plan.reportPage(
          page,
          pageOf([{ id: `p${page}` }], { cursor: page + 1 < pageCount ? `p${page}` : undefined }),
          0,
        );
      }
      const decision = plan.next(0);
      return decision.kind === 'wait' ? decision.untilMs / 1_000 : 0;
    };

    expect(intervalS(1, 700)).toBe(60);
    expect(intervalS(13, 700)).toBeCloseTo((13 * 60) / 3.5);
    expect(intervalS(1, 10)).toBe(300);
  });

  test('are not hurried by their deadline before their usual interval is over', () => {
    const silent = { ...listing, hintIntervalMsMin: undefined };
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 10, listing: silent });
    plan.reportPage(0, pageOf([]), 0);
    for (let nowMs = 0; nowMs < 5 * MINUTE_MS; nowMs += 1_000) expect(pagesAt(plan, nowMs)).toEqual([]);

    expect(pagesAt(plan, 5 * MINUTE_MS)).toHaveLength(1);
  });

  test('come oftener the more is to be expected of the projects on them', () => {
    const busy = { ...quiet, arrivalCount: 900 };
    const ids = Array.from({ length: 40 }, (_, place) => `p${place}`);
    const rowsOf = (page: number) => ids.slice(20 * page, 20 * page + 20).map((id) => ({ id }));
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 700, listing });
    plan.addProjects(ids);
    plan.reportPage(0, pageOf(rowsOf(0), { cursor: 'p19' }), 0);
    const counts = [0, 0];
    for (let nowMs = 0; nowMs < 30 * MINUTE_MS; ) {
      const decision = plan.next(nowMs);
      nowMs = decision.kind === 'wait' ? Math.max(nowMs + 1, decision.untilMs) : nowMs + 200;
      if (decision.kind === 'poll') {
        const isBusy = ids.indexOf(decision.projectId) < 20;
        plan.report(decision.projectId, { ...result, activity: isBusy ? busy : quiet }, nowMs);
      } else if (decision.kind === 'list') {
        const { page } = decision;
        counts[page] = (counts[page] ?? 0) + 1;
        plan.reportPage(page, pageOf(rowsOf(page), { cursor: page === 0 ? 'p19' : undefined }), nowMs);
      }
    }

    expect(counts[0]).toBeGreaterThan(2 * (counts[1] ?? 0));
    expect(counts[1]).toBeGreaterThan(29);
  });

  test('come for their hints no sooner than their own interval, which is not that of projects', () => {
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 700, listing });
    plan.addProjects(['a']);
    plan.reportPage(0, pageOf([{ id: 'a' }]), 0);
    pagesAt(plan, 0);
    plan.reportPage(0, pageOf([{ id: 'a' }]), 1_000);

    expect(plan.next(1_999)).toEqual({ kind: 'wait', untilMs: 2_000 });
    expect(pagesAt(plan, 2_000)).toEqual([[0, undefined]]);
  });

  test('that cannot be read are tried again less and less often, and keep no project waiting', () => {
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 700, listing });
    plan.addProjects(['a']);
    plan.reportPage(0, pageOf([{ id: 'a' }]), 0);
    const triedAtMs: number[] = [];
    for (let nowMs = MINUTE_MS; nowMs < 3 * MINUTE_MS; nowMs += 1_000) {
      if (pagesAt(plan, nowMs).length === 0) continue;
      triedAtMs.push(nowMs - MINUTE_MS);
      plan.reportPage(0, undefined, nowMs);
    }

    expect(triedAtMs).toEqual([0, 5_000, 15_000, 35_000, 75_000]);
  });

  test('that have gone are read no more', () => {
    const plan = createPollPlanner({ ...limits, requestsPerMinute: 700, listing });
    plan.addProjects(['a']);
    plan.reportPage(0, full, 0);
    expect(pagesAt(plan, 1)).toEqual([[1, 'a']]);
    plan.reportPage(0, pageOf([{ id: 'a' }]), 2);
    plan.reportPage(1, pageOf([]), 3);

    expect(pagesAt(plan, MINUTE_MS + 3)).toEqual([[0, undefined]]);
  });
});

describe('the project list as a hint', () => {
  const withHints = { ...limits, requestsPerMinute: 600, listing, pollIntervalMsMin: 1_000 };

  test('a project whose field moved is polled next; one that is new or missing is no hint', () => {
    const plan = createPollPlanner(withHints);
    plan.addProjects(['a', 'b']);
    for (let count = 0; count < 3; count++) {
      const decision = plan.next(0);
      if (decision.kind === 'poll') plan.report(decision.projectId, { ...result, activity: quiet }, 0);
    }
    const before = [
      { id: 'a', updated_at: '1' },
      { id: 'b', updated_at: '1' },
    ];
    plan.reportPage(0, pageOf(before), 0);
    plan.reportPage(0, pageOf([{ id: 'b', updated_at: '2' }]), 0);

    expect(plan.next(500)).toEqual({ kind: 'poll', projectId: 'b' });
    expect(plan.next(500)).toMatchObject({ kind: 'wait' });
  });

  test('a field that never shows a transition loses its share of the requests', () => {
    const listsIn = (shows: boolean) => {
      const ids = Array.from({ length: 100 }, (_, index) => `p${index}`);
      const plan = createPollPlanner(withHints);
      plan.addProjects(ids);
      plan.reportPage(0, pageOf(ids.map((id) => ({ id }))), 0);
      let listCount = 0;
      const values = new Map<string, number>();
      let pollCount = 0;
      for (let nowMs = 0; nowMs < 60 * MINUTE_MS; ) {
        const decision = plan.next(nowMs);
        if (decision.kind === 'wait') nowMs = Math.max(nowMs + 1, decision.untilMs);
        else if (decision.kind === 'list') {
          nowMs += MINUTE_MS / withHints.requestsPerMinute;
          listCount += 1;
          const rows = ids.map((id) => ({ id, updated_at: shows ? values.get(id) : 'never' }));
          plan.reportPage(decision.page, pageOf(rows), nowMs);
        } else {
          nowMs += MINUTE_MS / withHints.requestsPerMinute;
          pollCount += 1;
          const foundTransition = pollCount % 50 === 0;
          values.set(decision.projectId, (values.get(decision.projectId) ?? 0) + Number(foundTransition));
          plan.report(decision.projectId, { ...result, foundTransition, activity: quiet }, nowMs);
        }
      }
      return listCount;
    };

    expect(listsIn(false)).toBeLessThan(listsIn(true) / 5);
  });

  /**
   * Runs an account of 100 projects in which a transition happens every second, and returns the number of polls and of
   * listings in each ten minutes. `moves` says whether a transition moves the list's field at that time.
   */
  function readingsWhile(moves: (nowMs: number) => boolean, minutes: number) {
    const ids = Array.from({ length: 100 }, (_, index) => `p${index}`);
    const plan = createPollPlanner({ ...withHints, listing: { ...listing, hintIntervalMsMin: 0 } });
    plan.addProjects(ids);
    const values = new Map<string, number>();
    const unseen = new Set<string>();
    const counts = Array.from({ length: minutes / 10 }, () => ({ poll: 0, list: 0 }));
    let transitionAtMs = 0;
    let permitAtMs = 0;
    plan.reportPage(0, pageOf(ids.map((id) => ({ id, updated_at: 0 }))), 0);
    for (let nowMs = 0; nowMs < minutes * MINUTE_MS; nowMs = Math.max(nowMs + 1, permitAtMs)) {
      for (; transitionAtMs <= nowMs; transitionAtMs += 1_000) {
        const id = `p${(transitionAtMs / 1_000) % 97}`;
        unseen.add(id);
        if (moves(nowMs)) values.set(id, (values.get(id) ?? 0) + 1);
      }
      const decision = plan.next(nowMs);
      if (decision.kind === 'wait') {
        permitAtMs = Math.max(permitAtMs, Math.ceil(Math.min(decision.untilMs, nowMs + 1_000)));
        continue;
      }
      permitAtMs = nowMs + MINUTE_MS / withHints.requestsPerMinute;
      const count = counts[Math.floor(nowMs / (10 * MINUTE_MS))];
      if (count !== undefined && decision.kind !== 'computes') count[decision.kind] += 1;
      if (decision.kind === 'list') {
        const rows = ids.map((id) => ({ id, updated_at: values.get(id) ?? 0 }));
        plan.reportPage(decision.page, pageOf(rows), nowMs + 1);
      } else {
        const foundTransition = unseen.delete(decision.projectId);
        plan.report(decision.projectId, { ...result, foundTransition, activity: quiet }, nowMs + 1);
      }
    }
    return counts;
  }

  test('a list that has shown every transition gets most of the requests', () => {
    const [, , last] = readingsWhile(() => true, 30);

    expect(last?.list).toBeGreaterThan(2 * (last?.poll ?? Number.POSITIVE_INFINITY));
  });

  test('a list whose field suddenly stops to move loses most of its requests within minutes', () => {
    const counts = readingsWhile((nowMs) => nowMs < 20 * MINUTE_MS, 40);
    const last = counts.at(-1);

    expect(counts[1]?.list).toBeGreaterThan(counts[1]?.poll ?? Number.POSITIVE_INFINITY);
    expect(last?.poll).toBeGreaterThan(4 * (last?.list ?? Number.POSITIVE_INFINITY));
  });

  test('keeps what was learned of its fields across restarts', () => {
    const before = createPollPlanner(withHints);
    before.addProjects(['a']);
    for (let value = 0; value < 3; value++) before.reportPage(0, pageOf([{ id: 'a', updated_at: value }]), 0);
    const after = createPollPlanner(withHints);
    after.restoreHints(before.hintEvidence());

    expect(after.hintEvidence()).toEqual(before.hintEvidence());
    expect(after.hintEvidence()).toContainEqual(
      expect.objectContaining({ name: 'updated_at', moveCount: 2 }),
    );
  });
});

test.each([
  ['moves the project up while it is believed', 2_900, true],
  ['moves nothing up once it was wrong more than thirty times as often as right', 3_100, false],
])('a field of the list that cries wolf %s', (_what, moveCount, isTold) => {
  const planner = createPollPlanner({ ...limits, listing });
  planner.addProjects(['shop', 'till']);
  const recall = { foundCount: 100, missedCount: 0 };
  planner.restoreHints([{ name: 'updated_at', recall, hitCount: 100, moveCount }]);
  const show = (updated_at: string, nowMs: number) =>
    planner.reportPage(0, pageOf([{ id: 'shop', updated_at }, { id: 'till' }]), nowMs);
  show('2026-01-15T12:00:00Z', 1_000);
  for (const id of ['shop', 'till']) planner.report(id, result, 2_000);

  show('2026-01-15T12:00:01Z', 3_000);

  expect(planner.need(0, 3_000).hasWork).toBe(isTold);
});
