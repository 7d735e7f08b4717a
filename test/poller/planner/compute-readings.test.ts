import { describe, expect, test } from 'vitest';
import { createComputeReadings } from '../../../functions/poller/planner/compute-readings.ts';
import { type ComputesReading, createPollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { DAY_MS } from '../../../shared/core/time/durations.ts';
import { aTurn } from './queues/turns.ts';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 0, 15, 12);
const ANSWER_MS = 40;

const limits = {
  requestsPerMinute: 60,
  pollIntervalMsMin: 250,
  listing: undefined,
  failureBackoffMsMax: 5 * MINUTE_MS,
  readsComputes: true,
};

interface Service {
  /** Returns what a reading of the computes of `p0` comes to. */
  readonly computes: (nowMs: number) => ComputesReading;
  readonly settings?: Partial<typeof limits>;
  readonly projectCount?: number;
}

const quiet = { openSinceMs: undefined, activeSinceMs: [], arrivalCount: 8, observedMs: DAY_MS };
const result = { hasFailed: false, foundTransition: false, hasLeftovers: false };

/** A compute of `p0` runs all the time. Counts the polls and the readings of computes of each project. */
function run({ computes, settings, projectCount = 20 }: Service, minutes: number) {
  const plan = createPollPlanner({ ...limits, ...settings });
  const ids = Array.from({ length: projectCount }, (_, place) => `p${place}`);
  plan.setProjects(ids);
  const readings: { readonly atMs: number; readonly projectId: string }[] = [];
  const polls: { readonly atMs: number; readonly projectId: string }[] = [];
  const permitMs = MINUTE_MS / limits.requestsPerMinute;
  const endMs = START_MS + minutes * MINUTE_MS;
  for (let nowMs = START_MS; nowMs < endMs; nowMs += permitMs) {
    const decision = plan.next(nowMs);
    if (decision.kind === 'poll') {
      const { projectId } = decision;
      polls.push({ atMs: nowMs, projectId });
      const running = { activeSinceMs: [START_MS], activeIds: ['ep-1'] };
      const activity = { ...quiet, ...(projectId === 'p0' && running) };
      plan.report(projectId, { ...result, activity }, nowMs + ANSWER_MS);
    } else if (decision.kind === 'computes') {
      readings.push({ atMs: nowMs, projectId: decision.projectId });
      plan.reportComputes(decision.projectId, computes(nowMs), nowMs + ANSWER_MS);
    }
  }
  const pollsOfBusy = (fromMinute: number, toMinute: number) =>
    polls.filter(
      ({ atMs, projectId }) =>
        projectId === 'p0' &&
        atMs >= START_MS + fromMinute * MINUTE_MS &&
        atMs < START_MS + toMinute * MINUTE_MS,
    ).length;
  return { readings, polls, pollsOfBusy };
}

const used = { computes: (nowMs: number) => [{ id: 'ep-1', lastActiveMs: nowMs, suspendAfterMs: 300_000 }] };

describe('when the list of computes is read', () => {
  test('it is read once a compute can be suspended, and again when what it said has passed', () => {
    const { readings } = run(used, 60);
    const minutes = readings.map(({ atMs }) => Math.floor((atMs - START_MS) / MINUTE_MS));
    expect(new Set(readings.map(({ projectId }) => projectId))).toEqual(new Set(['p0']));
    expect(minutes.slice(0, 4)).toEqual([5, 10, 15, 20]);
    expect(minutes.length).toBeLessThanOrEqual(11);
  });

  test('while the compute is in use, its project is polled hardly more often than others', () => {
    const without = run({ ...used, settings: { readsComputes: false } }, 30).pollsOfBusy(6, 30);
    expect(run(used, 30).pollsOfBusy(6, 30)).toBeLessThan(without / 2);
  });

  test('once an unused compute can be suspended, its project is polled more often than before', () => {
    const lastActiveMs = START_MS + 4 * MINUTE_MS;
    const unused = { computes: () => [{ id: 'ep-1', lastActiveMs, suspendAfterMs: 360_000 }] };
    const { pollsOfBusy } = run(unused, 11);
    expect(pollsOfBusy(10, 11)).toBeGreaterThan(2 * pollsOfBusy(8, 9));
  });

  test('a compute that does not run any more is polled at once', () => {
    const { readings, polls } = run({ computes: () => [] }, 6);
    const [reading] = readings;
    const next = polls.find(({ atMs }) => atMs > (reading?.atMs ?? Number.NaN));
    expect(next?.projectId).toBe('p0');
  });
});

describe('a reading of computes', () => {
  test('that shows them in use lets their project wait by weight as others do', () => {
    const { readings, polls } = run(used, 30);
    const waits = readings.map(({ atMs }) => {
      const next = polls.find((poll) => poll.projectId === 'p0' && poll.atMs > atMs);
      return (next?.atMs ?? Number.NaN) - atMs;
    });
    // A round of the twenty projects takes 20 seconds, and by its deadline a project would wait for 40 at least.
    expect(Math.max(...waits)).toBeLessThanOrEqual(25_000);
  });

  test('is repeated before the longest back-off where its compute can be suspended sooner', () => {
    const brief = {
      computes: (nowMs: number) => [{ id: 'ep-1', lastActiveMs: nowMs, suspendAfterMs: 120_000 }],
    };
    const { readings } = run(brief, 20);
    const gapsMs = readings.slice(1).map(({ atMs }, place) => atMs - (readings[place]?.atMs ?? 0));
    expect(gapsMs.length).toBeGreaterThan(3);
    expect(Math.min(...gapsMs)).toBeLessThan(limits.failureBackoffMsMax);
  });

  test('that does not show a running compute any more asks for its project', () => {
    const plan = createPollPlanner(limits);
    const activity = { ...quiet, activeSinceMs: [START_MS - MINUTE_MS], activeIds: ['ep-1'] };
    plan.setProjects(['p0']);
    plan.next(START_MS);
    plan.report('p0', { ...result, activity }, START_MS);
    plan.reportComputes('p0', [], START_MS);
    expect(plan.waitingCount()).toBe(1);
  });

  test('changes nothing when its project is no longer polled', () => {
    const plan = createPollPlanner(limits);
    plan.setProjects(['p0']);
    plan.reportComputes('gone', [], START_MS);
    expect(plan.waitingCount()).toBe(0);
  });
});

test('a reading that is cut short is repeated soon, and the list is believed as before', () => {
  const cutUntilMs = START_MS + 6 * MINUTE_MS;
  const cut = (nowMs: number) => (nowMs < cutUntilMs ? 'cut_short' : used.computes(nowMs));
  const { readings } = run({ computes: cut }, 20);
  const cutCount = readings.filter(({ atMs }) => atMs < cutUntilMs).length;
  expect(cutCount).toBeGreaterThan(10);
  const minutes = readings.slice(cutCount).map(({ atMs }) => Math.floor((atMs - START_MS) / MINUTE_MS));
  expect(minutes).toEqual([6, 11, 16]);
});

describe('when it is not read', () => {
  test('nothing is read unless the limits allow it', () => {
    expect(run({ ...used, settings: { readsComputes: false } }, 30).readings).toEqual([]);
  });

  test('nothing is read where every project is polled as often as it may be anyway', () => {
    expect(run({ ...used, projectCount: 2, settings: { pollIntervalMsMin: 5_000 } }, 30).readings).toEqual(
      [],
    );
  });

  test('a list that shows no activity since the start of a compute is read at most every ten minutes soon', () => {
    const wrong = { computes: () => [{ id: 'ep-1', lastActiveMs: START_MS, suspendAfterMs: 300_000 }] };
    const later = run(wrong, 120).readings.filter(({ atMs }) => atMs >= START_MS + 10 * MINUTE_MS);
    expect(later.length).toBeLessThanOrEqual(11);
  });

  test('a list without times of activity is read at most every ten minutes', () => {
    const silent = { computes: () => [{ id: 'ep-1', lastActiveMs: undefined, suspendAfterMs: 300_000 }] };
    expect(run(silent, 120).readings.length).toBeLessThanOrEqual(12);
  });

  test('a list that cannot be read is tried again after the longest back-off', () => {
    const { readings } = run({ computes: () => 'unreadable' }, 60);
    const gapsMs = readings.slice(1).map(({ atMs }, place) => atMs - (readings[place]?.atMs ?? 0));
    expect(Math.min(...gapsMs)).toBeGreaterThanOrEqual(limits.failureBackoffMsMax);
    expect(readings.length).toBeLessThanOrEqual(9);
  });
});

test('whatever the lists of computes say, every project is read in time', () => {
  const answers: Service['computes'][] = [used.computes, () => 'unreadable', () => 'cut_short', () => []];
  for (const computes of answers) {
    const { polls } = run({ computes }, 60);
    const capMs = Math.max(MINUTE_MS, (4 * 20 * MINUTE_MS) / limits.requestsPerMinute);
    for (let place = 0; place < 20; place++) {
      const own = polls.filter(({ projectId }) => projectId === `p${place}`).map(({ atMs }) => atMs);
      const gapsMs = own.slice(1).map((atMs, index) => atMs - (own[index] ?? 0));
      expect(Math.max(...gapsMs)).toBeLessThanOrEqual(capMs + ANSWER_MS);
    }
  }
});

/** Sets up readings of computes that are worth their request, in an account whose pace is known. */
function readingsOf({
  areListsTrusted = true,
  ...settings
}: Partial<typeof limits> & { areListsTrusted?: boolean } = {}) {
  let nowMs = START_MS;
  const strides = {
    suspendStridesOf: () => ({ watched: 1_000, unwatched: 100_000 }),
    suspendableAtMs: () => nowMs,
    areListsTrusted: () => areListsTrusted,
    quietMs: () => 5 * MINUTE_MS,
  };
  const byWeight = { virtualTime: () => nowMs - START_MS };
  const readings = createComputeReadings(strides, byWeight, { ...limits, ...settings }, () => 0);
  readings.take(nowMs);
  nowMs += MINUTE_MS;
  readings.take(nowMs);
  const running = { ...quiet, activeSinceMs: [START_MS], activeIds: ['ep-1'] };
  const aRunning = (id = 'p0') => aTurn(id, { activity: running });
  const pass = (durationMs: number) => {
    nowMs += durationMs;
    return nowMs;
  };
  return { readings, aRunning, pass, nowMs };
}

describe('of a project whose computes are to be read', () => {
  test('nothing is read while a reading of it is under way, and it is considered again when that has ended', () => {
    const { readings, aRunning, nowMs } = readingsOf();
    const turn = aRunning();
    readings.follow(turn, nowMs);
    expect(readings.take(nowMs)).toBe(turn);
    readings.follow(turn, nowMs);
    expect([readings.take(nowMs), readings.take(nowMs), readings.take(nowMs)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    readings.end(turn, nowMs);
    expect(readings.take(nowMs)).toBe(turn);
  });

  test('nothing is read once it is forgotten, and its reading is not awaited any more', () => {
    const { readings, aRunning, nowMs } = readingsOf();
    const [waiting, read] = [aRunning('waiting'), aRunning('read')];
    readings.follow(read, nowMs);
    expect(readings.take(nowMs)).toBe(read);
    readings.follow(waiting, nowMs);
    readings.forget(waiting);
    expect(readings.take(nowMs)).toBeUndefined();
    readings.forget(read);
    readings.follow(read, nowMs);
    expect(readings.take(nowMs)).toBe(read);
  });

  test('nothing is read once no compute of it runs, or while nothing is known of it', () => {
    const { readings, aRunning, nowMs } = readingsOf();
    const turn = aRunning();
    readings.follow(turn, nowMs);
    turn.activity = { ...quiet, activeSinceMs: [], activeIds: [] };
    readings.follow(turn, nowMs);
    readings.follow(aTurn('unknown'), nowMs);
    expect(readings.take(nowMs)).toBeUndefined();
  });

  test('nothing is read unless the limits allow it', () => {
    const { readings, aRunning, nowMs } = readingsOf({ readsComputes: false });
    readings.follow(aRunning(), nowMs);
    expect(readings.take(nowMs)).toBeUndefined();
  });
});

test('of many projects, three of ten permits are used, and at most three permits can be saved up', () => {
  const takenAfter = (idleCount: number) => {
    const { readings, aRunning, nowMs } = readingsOf();
    for (let count = 0; count < idleCount; count++) readings.take(nowMs);
    for (let place = 0; place < 100; place++) readings.follow(aRunning(`p${place}`), nowMs);
    return Array.from({ length: 10 }, () => (readings.take(nowMs) === undefined ? '.' : 'r')).join('');
  };
  // Two permits of the account have passed before.
  expect(takenAfter(2)).toBe('rrr..r...r');
  expect(takenAfter(100)).toBe('rrr.r..r..');
});

test('while lists are not believed, one is tried at once and the next after ten minutes', () => {
  const { readings, aRunning, pass, nowMs } = readingsOf({ areListsTrusted: false });
  const turn = aRunning();
  const isRead = (atMs: number) => {
    readings.end(turn, atMs);
    return readings.take(atMs) === turn;
  };
  expect(isRead(nowMs)).toBe(true);
  expect(isRead(pass(10 * MINUTE_MS - 1))).toBe(false);
  expect(isRead(pass(1))).toBe(true);
});

describe('a reading that is valid for five minutes', () => {
  /** The project is polled once in `watchedS` seconds for its suspends, and once in `unwatchedS` while none is expected. */
  function isRead(
    watchedS: number,
    unwatchedS: number,
    recall = 0,
    { quietMs = 5 * MINUTE_MS, paceMs = MINUTE_MS } = {},
  ): boolean {
    let nowMs = START_MS;
    const strides = {
      suspendStridesOf: () => ({ watched: watchedS * 1_000, unwatched: unwatchedS * 1_000 }),
      suspendableAtMs: () => nowMs,
      areListsTrusted: () => true,
      quietMs: () => quietMs,
    };
    const byWeight = { virtualTime: () => nowMs - START_MS };
    const readings = createComputeReadings(strides, byWeight, limits, () => recall);
    readings.take(nowMs);
    nowMs += paceMs;
    readings.take(nowMs);
    const turn = aTurn('p0');
    turn.activity = { ...quiet, activeSinceMs: [START_MS], activeIds: ['ep-1'] };
    readings.follow(turn, nowMs);
    return readings.take(nowMs) === turn;
  }

  test('is worth its request when it spares more than one and a half polls', () => {
    expect(isRead(99, 200)).toBe(true);
    expect(isRead(101, 200)).toBe(false);
    // Powers of two make exactly one and a half.
    expect(isRead(65.536, 131.072, 0, { quietMs: 196_608 })).toBe(false);
    expect(isRead(65.536, 131.072, 0, { quietMs: 196_609 })).toBe(true);
  });

  test('can be decided once the pace of the turns was measured for ten seconds', () => {
    expect(isRead(10, 100, 0, { paceMs: 10_000 })).toBe(true);
    expect(isRead(10, 100, 0, { paceMs: 9_999 })).toBe(false);
  });

  test('must spare more where the project would be polled less than twice as often without it', () => {
    expect(isRead(30, 48)).toBe(true);
    expect(isRead(60, 96)).toBe(false);
  });

  test('is never worth it where the project would be polled less than one and a half times as often without it', () => {
    expect(isRead(1, 1.5)).toBe(true);
    expect(isRead(1, 1.4)).toBe(false);
  });

  test('is worth less where the project list shows a part of the transitions, and nothing where it shows all', () => {
    expect(isRead(10, 100, 0.9)).toBe(true);
    expect(isRead(10, 100, 0.95)).toBe(false);
    expect(isRead(1, 100, 1)).toBe(false);
  });
});
