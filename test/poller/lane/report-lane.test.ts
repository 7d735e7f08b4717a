import { describe, expect, test } from 'vitest';
import type { LaneMeasurement } from '../../../functions/poller/lane/lane-load.ts';
import { createLaneReports, isNews } from '../../../functions/poller/lane/lane-load.ts';
import type { SetAside } from '../../../functions/poller/lane/run-lane.ts';
import { type LaneStatus, SET_ASIDE_NAMED_MAX } from '../../../shared/accounts/lanes.ts';
import { aTelemetry } from '../../builders.ts';
import { aLaneStatus } from '../../lanes/a-lane-status.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);
const MINUTE_MS = 60_000;

const measured: LaneMeasurement = {
  lane: 2,
  accountCount: 3,
  load: { eventLoopDelayMs: 19.6, lateDecisionMs: 60, memoryMb: 180.4 },
  loadPercent: 40,
  sockets: { inUseMax: 12, waitedCount: 0 },
  advice: { kind: 'none' },
};

function setUp(stored: () => Promise<readonly LaneStatus[]> = async () => []) {
  let nowMs = NOON_MS;
  const logged: unknown[][] = [];
  const sleepSignals: (AbortSignal | undefined)[] = [];
  const written: LaneStatus[] = [];
  let answer: () => Promise<void> = async () => {};
  let readCount = 0;
  const reports = createLaneReports({
    read: () => {
      readCount += 1;
      return stored();
    },
    write: async (status) => {
      await answer();
      written.push(status);
    },
    clock: {
      now: () => nowMs,
      sleep: async (durationMs, signal) => {
        sleepSignals.push(signal);
        nowMs += durationMs;
      },
    },
    telemetry: aTelemetry({ log: (...line) => void logged.push(line) }),
  });
  return {
    reports,
    logged,
    sleepSignals,
    written,
    readCount: () => readCount,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    answerWith: (next: () => Promise<void>) => {
      answer = next;
    },
  };
}

describe('the report of a lane', () => {
  test('says its load, the advice, and which accounts are set aside until when', async () => {
    const { reports, written } = setUp();
    const setAside = new Map<string, SetAside>([
      ['a', { failureCount: 1, untilMs: NOON_MS + MINUTE_MS }],
      ['b', { failureCount: 4, untilMs: NOON_MS + 8 * MINUTE_MS }],
      ['over', { failureCount: 2, untilMs: NOON_MS }],
    ]);
    await reports.write({ ...measured, advice: { kind: 'pin_account', accountId: 'large' } }, setAside);

    expect(written).toEqual([
      {
        lane: 2,
        written_at: '2026-01-15T12:00:00.000Z',
        account_count: 3,
        load_percent: 40,
        event_loop_delay_ms: 20,
        late_decision_ms: 60,
        memory_mb: 180,
        sockets_max: 12,
        advice: 'pin_account',
        advice_account_id: 'large',
        set_aside: [
          { account_id: 'b', failure_count: 4, until: '2026-01-15T12:08:00.000Z' },
          { account_id: 'a', failure_count: 1, until: '2026-01-15T12:01:00.000Z' },
        ],
      },
    ]);
  });

  test('names at most a hundred accounts', async () => {
    const { reports, written } = setUp();
    const setAside = new Map(
      Array.from({ length: 150 }, (_, index) => [
        `a-${index}`,
        { failureCount: 1, untilMs: NOON_MS + MINUTE_MS },
      ]),
    );
    await reports.write(measured, setAside);

    expect(written[0]?.set_aside).toHaveLength(SET_ASIDE_NAMED_MAX);
  });

  test('is written again when it says something new, and otherwise every five minutes', async () => {
    const { reports, written, pass } = setUp();
    for (let minute = 0; minute < 12; minute++) {
      await reports.write(measured, new Map());
      pass(MINUTE_MS);
    }

    expect(written.map(({ written_at }) => written_at.slice(14, 16))).toEqual(['00', '05', '10']);
  });

  test.each<[string, Partial<LaneStatus>, boolean]>([
    ['nothing', {}, false],
    ['a little more load', { load_percent: 49 }, false],
    ['more load', { load_percent: 50 }, true],
    ['more memory', { memory_mb: 181 }, false],
    ['an advice', { advice: 'add_lane' }, true],
    ['another account to pin', { advice_account_id: 'large' }, true],
    ['one more account', { account_count: 91 }, true],
    ['an account set aside', { set_aside: [{ account_id: 'a', failure_count: 1, until: '' }] }, true],
    ['another lane', { lane: 1 }, true],
    ['five minutes', { written_at: '2026-01-15T12:05:00.000Z' }, true],
  ])('%s is news or not', (_name, changes, expected) => {
    expect(isNews(aLaneStatus(), aLaneStatus(changes))).toBe(expected);
  });

  test('does not hold the invocation up, and is written by the next one, when the table does not answer', async () => {
    const { reports, written, answerWith } = setUp();
    answerWith(() => new Promise(() => {}));
    await reports.write(measured, new Map());
    answerWith(async () => {});
    await reports.write(measured, new Map());

    expect(written).toHaveLength(1);
  });

  test('that cannot be written is a line in the log', async () => {
    const { reports, logged, answerWith } = setUp();
    answerWith(() => Promise.reject(new Error('throttled')));
    await reports.write(measured, new Map());

    expect(logged).toEqual([['warn', 'lane.status_not_written', { reason: 'Error' }]]);
  });

  test('leaves no timer behind, which would keep the process alive', async () => {
    const { reports, sleepSignals } = setUp();
    await reports.write(measured, new Map());

    expect(sleepSignals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  test('names an account only when that account should have a lane of its own', async () => {
    const { reports, written } = setUp();
    await reports.write({ ...measured, advice: { kind: 'add_lane' } }, new Map());

    expect(Object.keys(written[0] ?? {})).not.toContain('advice_account_id');
  });
});

describe('after a cold start', () => {
  const until = '2026-01-15T12:08:00.000Z';
  const stored = async () => [
    aLaneStatus({ set_aside: [{ account_id: 'a', failure_count: 4, until }] }),
    aLaneStatus({ lane: 1, set_aside: [{ account_id: 'b', failure_count: 1, until }] }),
  ];

  test('the accounts that any lane has set aside stay so, and the table is read once', async () => {
    const { reports, readCount } = setUp(stored);
    const own = { failureCount: 9, untilMs: 1 };
    const setAside = new Map<string, SetAside>([['b', own]]);
    await reports.recall(setAside);
    await reports.recall(setAside);

    expect([...setAside]).toEqual([
      ['b', own],
      ['a', { failureCount: 4, untilMs: Date.parse(until) }],
    ]);
    expect(readCount()).toBe(1);
  });

  test('a status that cannot be read sets no account aside', async () => {
    const { reports, logged } = setUp(() => Promise.reject(new Error('throttled')));
    const setAside = new Map<string, SetAside>();
    await reports.recall(setAside);

    expect(setAside.size).toBe(0);
    expect(logged).toEqual([['warn', 'lane.status_not_read', { reason: 'Error' }]]);
  });
});
