import { describe, expect, test } from 'vitest';
import type { ProjectActivity } from '../../../functions/poller/planner/activity/project-activity.ts';
import {
  createProjectStrides,
  type ProjectStrides,
} from '../../../functions/poller/planner/project-strides.ts';
import type { Turn } from '../../../functions/poller/planner/queues/turn.ts';
import { createTurnSlots } from '../../../functions/poller/planner/queues/turn-slots.ts';
import { aTurn, turnSlots } from './queues/turns.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const NOW_MS = 100 * DAY_MS;

const activity = (fields: Partial<ProjectActivity> = {}): ProjectActivity => ({
  openSinceMs: undefined,
  activeSinceMs: [],
  arrivalCount: 8,
  observedMs: DAY_MS,
  ...fields,
});

/** Sets up projects of which nothing is known yet. */
function setUp(count: number) {
  const strides = createProjectStrides(turnSlots);
  const ids = Array.from({ length: count }, (_, place) => `p${place}`);
  const turns = strides.welcome(ids, new Map());
  return { strides, turns, turn: turns[0] ?? aTurn('none') };
}

const coldPerDay = ({ cold }: Turn) => cold * DAY_MS;

describe('what is expected of projects that become known', () => {
  test('is the assumed rate while nothing is known of any of them', () => {
    const { turns } = setUp(2);

    expect(turns.map(({ id }) => id)).toEqual(['p0', 'p1']);
    expect(turns.map(coldPerDay)).toEqual([expect.closeTo(30), expect.closeTo(30)]);
    expect(turns.every(({ history }) => history === undefined)).toBe(true);
  });

  test('adds up over all projects, with what each page says and without those that are gone', () => {
    const { strides, turns, turn } = setUp(3);
    expect(strides.coldPerMs() * DAY_MS).toBeCloseTo(90);

    strides.learn(turn, activity({ arrivalCount: 100 }), NOW_MS);
    const [, second = aTurn('none'), third = aTurn('none')] = turns;
    strides.forget(third);
    expect(strides.coldPerMs()).toBeCloseTo(turn.cold + second.cold);
    expect(turn.cold).toBeGreaterThan(second.cold);

    strides.forget(turn);
    strides.forget(second);
    expect(strides.coldPerMs() * DAY_MS).toBeCloseTo(0);
    expect(strides.coldPerMs()).toBeGreaterThanOrEqual(0);
  });

  test('is what their history says, and the histories of all say something about the others', () => {
    const strides = createProjectStrides(turnSlots);
    const busy = { arrivalCount: 100, observedMs: DAY_MS };
    const [known, unknown] = strides.welcome(['known', 'unknown'], new Map([['known', busy]]));

    expect(known?.history).toBe(busy);
    // The prior belief counts as half an arrival at the mean rate of the account, which is 108 arrivals in two days.
    expect(known && coldPerDay(known)).toBeCloseTo((3.75 * 100.5) / (1 + 0.5 / 54));
    expect(unknown && coldPerDay(unknown)).toBeCloseTo(3.75 * 54);
  });

  test('falls back to the assumed rate once the busy ones are forgotten', () => {
    const strides = createProjectStrides(turnSlots);
    const busy = { arrivalCount: 100, observedMs: DAY_MS };
    const [known = aTurn('none')] = strides.welcome(['known'], new Map([['known', busy]]));
    strides.forget(known);
    const [other] = strides.welcome(['other'], new Map());

    expect(other && coldPerDay(other)).toBeCloseTo(30);
  });
});

test('a project that is forgotten gives its number to the next one that becomes known', () => {
  const strides = createProjectStrides(createTurnSlots());
  const [first = aTurn('none')] = strides.welcome(['first', 'second'], new Map());
  strides.forget(first);

  expect(strides.welcome(['third'], new Map())).toMatchObject([{ slot: first.slot }]);
});

describe('what a reading teaches', () => {
  test('is the history, the activity and the rate of its project', () => {
    const { strides, turn } = setUp(1);
    const page = activity({ arrivalCount: 20 });
    strides.learn(turn, page, NOW_MS);

    expect(turn).toMatchObject({ activity: page, history: page, learnedAtMs: NOW_MS });
    expect(coldPerDay(turn)).toBeCloseTo((3.75 * 20.5) / (1 + 0.5 / 14));
  });

  test('counts a page for the time since the reading before', () => {
    const { strides, turn } = setUp(1);
    const hour = 60 * MINUTE_MS;
    strides.learn(turn, activity({ arrivalCount: 10, observedMs: 10 * hour }), NOW_MS);
    strides.learn(turn, activity({ arrivalCount: 30, observedMs: 3 * hour }), NOW_MS + hour);

    expect(turn.history).toEqual({ arrivalCount: 20, observedMs: 11 * hour });
  });

  test('replaces what was known of the project in the mean of the account', () => {
    const { strides, turn } = setUp(1);
    for (let day = 0; day < 3; day++)
      strides.learn(turn, activity({ arrivalCount: 16 }), NOW_MS + day * DAY_MS);
    const [other] = strides.welcome(['other'], new Map());

    expect(other && coldPerDay(other)).toBeCloseTo((3.75 * 24) / 2);
  });
});

describe('what a reading teaches of all projects', () => {
  const ended = { action: 'create_branch', beganMs: NOW_MS - 45_000, endedMs: NOW_MS };
  const endsPerMsOf = (turn: Turn, strides: ProjectStrides) => {
    const open = { activity: activity({ openSinceMs: NOW_MS, openAction: 'create_branch' }) };
    return strides.hotIntensityOf({ ...turn, ...open }, NOW_MS);
  };

  test('is how long operations take', () => {
    const { strides, turns, turn } = setUp(2);
    const [, other = aTurn('none')] = turns;
    strides.learn(turn, activity({ lifetimes: Array.from({ length: 100 }, () => ended) }), NOW_MS);

    expect(endsPerMsOf(other, strides)).toBeLessThan(1 / 20_000);
  });

  test('counts what has ended once, on however many pages of its project it stands', () => {
    const [once, often] = [setUp(1), setUp(1)];
    const later = { ...ended, endedMs: NOW_MS + 1_000 };
    once.strides.learn(once.turn, activity({ lifetimes: [later, ended] }), NOW_MS);
    for (const lifetimes of [[ended], undefined, [ended], [], [later, ended], [later]])
      often.strides.learn(often.turn, activity(lifetimes && { lifetimes }), NOW_MS);

    expect(endsPerMsOf(often.turn, often.strides)).toBe(endsPerMsOf(once.turn, once.strides));
  });
});

describe('a project in which nothing has happened for a week', () => {
  const empty = activity({ arrivalCount: 0, observedMs: 7 * DAY_MS });
  const coldAfter = (oldestMs: number) => {
    const { strides, turns } = setUp(2);
    const [other = aTurn('none'), quiet = aTurn('none')] = turns;
    strides.learn(other, activity({ oldestMs }), NOW_MS);
    strides.learn(quiet, empty, NOW_MS);
    return quiet.cold;
  };

  test('is expected to stay quieter, the longer the account has been used', () => {
    const colds = [1, 2, 4, 7].map((days) => coldAfter(NOW_MS - days * DAY_MS));

    expect(colds).toEqual(colds.toSorted((a, b) => b - a));
    expect(new Set(colds).size).toBe(4);
    expect(coldAfter(NOW_MS - 30 * DAY_MS)).toBe(colds.at(-1));
  });
});

describe('the stride of a project', () => {
  test('is one over the square root of what is expected of it', () => {
    const { strides, turn } = setUp(20);
    const openSinceMs = NOW_MS - 8_500;
    strides.learn(turn, activity({ openSinceMs }), NOW_MS);

    expect(strides.strideOf(turn, NOW_MS)).toBeCloseTo(1 / Math.sqrt(turn.cold + 1 / 10_000), 5);
  });

  test('is at most 1.2 times the mean of all projects', () => {
    const { strides, turns, turn } = setUp(2);
    const [, busy = aTurn('none')] = turns;
    strides.learn(busy, activity({ arrivalCount: 900 }), NOW_MS);
    const mean = (1 / Math.sqrt(turn.cold) + 1 / Math.sqrt(busy.cold)) / 2;

    expect(1 / Math.sqrt(turn.cold)).toBeGreaterThan(1.2 * mean);
    expect(strides.strideOf(turn, NOW_MS)).toBeCloseTo(1.2 * mean);
  });

  test('is that of its own rate when the mean of all projects is as long', () => {
    const { strides, turn } = setUp(2);

    expect(strides.strideOf(turn, NOW_MS)).toBeCloseTo(1 / Math.sqrt(turn.cold));
  });

  test('follows the mean as projects learn and go', () => {
    const { strides, turns, turn } = setUp(3);
    const [, busy = aTurn('none'), gone = aTurn('none')] = turns;
    strides.learn(busy, activity({ arrivalCount: 900 }), NOW_MS);
    strides.forget(gone);
    const mean = (1 / Math.sqrt(turn.cold) + 1 / Math.sqrt(busy.cold)) / 2;

    expect(strides.strideOf(turn, NOW_MS)).toBeCloseTo(1.2 * mean);
  });

  test('of a turn is nothing when there are no projects', () => {
    expect(createProjectStrides(turnSlots).strideOf(aTurn('a'), NOW_MS)).toBe(0);
  });
});

describe('a compute that can be suspended', () => {
  const running = (ageMs: number) => activity({ activeSinceMs: [NOW_MS - ageMs] });

  test('lets more be expected of its project five minutes after its last use, once', () => {
    const { strides, turn } = setUp(1);
    strides.learn(turn, running(MINUTE_MS), NOW_MS);

    expect(strides.takeRisen(NOW_MS + 4 * MINUTE_MS - 1)).toBeUndefined();
    expect(strides.takeRisen(NOW_MS + 4 * MINUTE_MS)).toBe(turn);
    expect(strides.takeRisen(NOW_MS + 4 * MINUTE_MS)).toBeUndefined();
  });

  test('is found behind projects in which nothing runs', () => {
    const { strides, turns } = setUp(2);
    const [quiet = aTurn('none'), busy = aTurn('none')] = turns;
    strides.learn(quiet, activity(), NOW_MS);
    strides.learn(busy, running(MINUTE_MS), NOW_MS);

    expect(strides.takeRisen(NOW_MS + 4 * MINUTE_MS)).toBe(busy);
  });

  test('is forgotten with the next reading that does not show it running', () => {
    const { strides, turn } = setUp(1);
    strides.learn(turn, running(MINUTE_MS), NOW_MS);
    strides.learn(turn, activity(), NOW_MS);

    expect(strides.takeRisen(NOW_MS + DAY_MS)).toBeUndefined();
  });

  test('is forgotten with its project', () => {
    const { strides, turn } = setUp(1);
    strides.learn(turn, running(MINUTE_MS), NOW_MS);
    strides.forget(turn);

    expect(strides.takeRisen(NOW_MS + DAY_MS)).toBeUndefined();
  });
});

describe('the time without a suspend that a list of computes is expected to show', () => {
  const quietAfter = (lists: number, idleMs: number, suspendAfterMs: number) => {
    const { strides, turn } = setUp(1);
    const running = [{ id: 'ep-1', lastActiveMs: NOW_MS - idleMs, suspendAfterMs }];
    for (let list = 0; list < lists; list++) strides.learnComputes(turn, running, NOW_MS);
    return strides.quietMs();
  };

  test('is five minutes, the usual time-out, before any list was read', () => {
    expect(quietAfter(0, 0, 0)).toBe(5 * MINUTE_MS);
  });

  test('follows slowly what the lists show: the time from the reading until the earliest suspend', () => {
    expect(quietAfter(1, 3 * MINUTE_MS, 5 * MINUTE_MS)).toBe(0.95 * 5 * MINUTE_MS + 0.05 * 2 * MINUTE_MS);
    expect(quietAfter(200, 3 * MINUTE_MS, 5 * MINUTE_MS)).toBeCloseTo(2 * MINUTE_MS, -2);
  });

  test('is at least a minute and at most an hour, so that it can be learned anew', () => {
    expect(quietAfter(200, 5 * MINUTE_MS, 5 * MINUTE_MS)).toBeCloseTo(MINUTE_MS, -2);
    expect(quietAfter(400, 0, Number.POSITIVE_INFINITY)).toBeCloseTo(60 * MINUTE_MS, -2);
  });

  test('learns nothing from an instant that cannot be true', () => {
    expect(quietAfter(200, 10 * MINUTE_MS, 5 * MINUTE_MS)).toBe(5 * MINUTE_MS);
  });
});

describe('what a list of computes teaches', () => {
  /** A page shows that the compute `ep-1` was started this long ago. */
  const running = (ageMs: number) => activity({ activeSinceMs: [NOW_MS - ageMs], activeIds: ['ep-1'] });
  /** The list shows that the compute is suspended this long after the reading unless it is used. */
  const suspendedIn = (leftMs: number, id = 'ep-1') => ({
    id,
    lastActiveMs: NOW_MS + leftMs - 5 * MINUTE_MS,
    suspendAfterMs: 5 * MINUTE_MS,
  });
  const aRunningProject = (ageMs = 2 * MINUTE_MS) => {
    const { strides, turn } = setUp(1);
    strides.learn(turn, running(ageMs), NOW_MS);
    return { strides, turn };
  };

  test('is that a compute has stopped which ran when the project was polled', () => {
    const { strides, turn } = aRunningProject();

    expect(strides.learnComputes(turn, [], NOW_MS)).toBe(true);
    expect(turn.computes.get('ep-1')).toMatchObject({ suspendAtMs: undefined, readAtMs: NOW_MS });
  });

  test('is that one still runs which the list shows', () => {
    const { strides, turn } = aRunningProject();

    expect(strides.learnComputes(turn, [suspendedIn(MINUTE_MS)], NOW_MS)).toBe(false);
  });

  test('is nothing of a compute that was started so recently that the list may lack it', () => {
    const recent = aRunningProject(MINUTE_MS - 1);
    const older = aRunningProject(MINUTE_MS);

    expect(recent.strides.learnComputes(recent.turn, [], NOW_MS)).toBe(false);
    expect(recent.turn.computes.size).toBe(0);
    expect(older.strides.learnComputes(older.turn, [], NOW_MS)).toBe(true);
  });

  test('is that none has stopped where no page named a running one', () => {
    const { strides, turn } = setUp(1);
    expect(strides.learnComputes(turn, [], NOW_MS)).toBe(false);
    strides.learn(turn, activity({ activeSinceMs: [NOW_MS - MINUTE_MS] }), NOW_MS);

    expect(strides.learnComputes(turn, [], NOW_MS)).toBe(false);
  });

  test('is nothing when the list could not be read, and what was known stays', () => {
    const { strides, turn } = aRunningProject();
    strides.learnComputes(turn, [suspendedIn(MINUTE_MS)], NOW_MS);
    const known = turn.computes;

    expect(strides.learnComputes(turn, undefined, NOW_MS)).toBe(false);
    expect(turn.computes).toBe(known);
  });

  test('is believed until five more lists were wrong than right', () => {
    for (const wrong of [undefined, [suspendedIn(-3 * MINUTE_MS)]]) {
      const { strides, turn } = aRunningProject();
      for (let list = 0; list < 4; list++) strides.learnComputes(turn, wrong, NOW_MS);
      expect(strides.areListsTrusted()).toBe(true);

      strides.learnComputes(turn, wrong, NOW_MS);
      expect(strides.areListsTrusted()).toBe(false);
    }
  });

  test('is when more is to be expected of the project', () => {
    const { strides, turn } = aRunningProject();
    strides.learnComputes(turn, [suspendedIn(10 * MINUTE_MS)], NOW_MS);

    expect(strides.takeRisen(NOW_MS + 10 * MINUTE_MS - 30_000)).toBeUndefined();
    expect(strides.takeRisen(NOW_MS + 10 * MINUTE_MS)).toBe(turn);
  });

  test('is kept while later pages show the compute to run since before the list was read', () => {
    const { strides, turn } = aRunningProject();
    strides.learnComputes(turn, [suspendedIn(10 * MINUTE_MS)], NOW_MS);
    strides.learn(turn, running(2 * MINUTE_MS), NOW_MS + 1_000);
    expect([...turn.computes.keys()]).toEqual(['ep-1']);
    expect(turn.computes.get('ep-1')).toMatchObject({ suspendAtMs: NOW_MS + 10 * MINUTE_MS });

    strides.learn(turn, running(0), NOW_MS + 2_000);
    expect([...turn.computes.keys()]).toEqual(['ep-1']);
    strides.learn(turn, running(-1), NOW_MS + 3_000);
    expect(turn.computes.size).toBe(0);
  });

  test('is dropped of a compute that the page does not show to run', () => {
    const { strides, turn } = aRunningProject();
    strides.learnComputes(turn, [suspendedIn(MINUTE_MS, 'ep-2')], NOW_MS);
    strides.learn(turn, running(2 * MINUTE_MS), NOW_MS);
    expect([...turn.computes.keys()]).toEqual(['ep-1']);
    strides.learn(turn, activity(), NOW_MS);

    expect(turn.computes.size).toBe(0);
  });

  test('takes no memory of projects of which no list was read', () => {
    const { turns, strides } = setUp(2);
    const [first = aTurn('none'), second = aTurn('none')] = turns;
    strides.learn(first, running(MINUTE_MS), NOW_MS);
    strides.learn(second, running(MINUTE_MS), NOW_MS);

    expect(first.computes).toBe(second.computes);
  });
});

describe('the strides with and without what suspends add', () => {
  test('differ while a compute can be suspended', () => {
    const { strides, turn } = setUp(2);
    strides.learn(turn, activity({ activeSinceMs: [NOW_MS - 6 * MINUTE_MS] }), NOW_MS);
    const { watched, unwatched } = strides.suspendStridesOf(turn, NOW_MS);

    expect(watched).toBe(strides.strideOf(turn, NOW_MS));
    expect(watched).toBeLessThan(unwatched / 2);
    expect(unwatched).toBeCloseTo(1 / Math.sqrt(turn.cold));
  });

  test('both contain what an open operation adds', () => {
    const { strides, turn } = setUp(2);
    strides.learn(turn, activity({ openSinceMs: NOW_MS - 8_500 }), NOW_MS);
    const { watched, unwatched } = strides.suspendStridesOf(turn, NOW_MS);

    expect(unwatched).toBe(watched);
    expect(unwatched).toBeLessThan(1 / Math.sqrt(turn.cold) / 2);
  });

  test('are those of a quiet project before anything was read', () => {
    const { strides, turn } = setUp(2);
    const cold = 1 / Math.sqrt(turn.cold);
    const { watched, unwatched } = strides.suspendStridesOf(turn, NOW_MS);

    expect([watched, unwatched]).toEqual([expect.closeTo(cold), expect.closeTo(cold)]);
  });
});

describe('the instant from which a compute can be suspended', () => {
  /** Many computes were suspended within their first minute. */
  const suspendedSoon = Array.from({ length: 500 }, () => ({
    computeId: 'ep-1',
    action: undefined,
    beganMs: NOW_MS - 30_000,
    endedMs: NOW_MS,
  }));

  test('is five minutes after its start, or now when it is older', () => {
    const { strides } = setUp(1);

    expect(strides.suspendableAtMs(NOW_MS - MINUTE_MS, NOW_MS)).toBe(NOW_MS + 4 * MINUTE_MS);
    expect(strides.suspendableAtMs(NOW_MS + MINUTE_MS, NOW_MS)).toBe(NOW_MS + 6 * MINUTE_MS);
    expect(strides.suspendableAtMs(NOW_MS - DAY_MS, NOW_MS)).toBe(NOW_MS);
  });

  test('is now where suspends are as likely at every age', () => {
    const { strides, turns } = setUp(1);
    const [turn = aTurn('none')] = turns;
    strides.learn(turn, activity({ lifetimes: suspendedSoon }), NOW_MS);
    const { watched, unwatched } = strides.suspendStridesOf(turn, NOW_MS);

    expect(strides.suspendableAtMs(NOW_MS, NOW_MS)).toBe(NOW_MS);
    expect(unwatched).toBe(watched);
  });
});
