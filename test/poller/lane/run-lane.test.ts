import { beforeEach, describe, expect, test } from 'vitest';
import type { AccountReport, Invocation } from '../../../functions/poller/account/poll-account.ts';
import {
  ACCOUNTS_LOOK_MS,
  type LaneAccount,
  type LaneReport,
  runLane,
  type SetAsideAccounts,
} from '../../../functions/poller/lane/run-lane.ts';
import type { LogFields } from '../../../shared/runtime/telemetry.ts';
import { createScheduler } from '../../simulation/scheduler.ts';

const START_MS = Date.UTC(2026, 0, 15, 12);
const MINUTE_MS = 60_000;
const DONE: AccountReport = { outcome: 'stopped', pollCount: 2, recordedCount: 1, publishedCount: 1 };
const HELD: AccountReport = { outcome: 'lease_held', pollCount: 0, recordedCount: 0, publishedCount: 0 };

let scheduler: ReturnType<typeof createScheduler>;
let notes: string[];
let logged: { readonly level: string; readonly event: string; readonly fields: LogFields }[];
let measured: string[];
let setAside: SetAsideAccounts;
let laneEndedAtS: number | undefined;
let nudged: string[];

beforeEach(() => {
  scheduler = createScheduler(START_MS);
  notes = [];
  logged = [];
  measured = [];
  setAside = new Map();
  nudged = [];
});

const seconds = () => Math.round((scheduler.now() - START_MS) / 1_000);

/** Polls until its signal aborts, unless the test decides otherwise. */
function anAccount(
  accountId: string,
  poll: (invocation: Invocation) => Promise<AccountReport> = untilStopped,
  identity = 'settings',
): LaneAccount {
  return {
    accountId,
    identity,
    nudge: () => void notes.push(`${seconds()} ${accountId} is nudged`),
    async poll(invocation) {
      notes.push(`${seconds()} ${accountId} begins with ${identity}`);
      try {
        return await poll(invocation);
      } finally {
        notes.push(`${seconds()} ${accountId} ends`);
      }
    },
  };
}

function untilStopped({ signal }: Invocation): Promise<AccountReport> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(DONE);
    signal.addEventListener('abort', () => resolve(DONE), { once: true });
  });
}

const fails = (message: string) => async (): Promise<AccountReport> => {
  throw new TypeError(message);
};

/** Runs one invocation of a minute. `accountsAt` says which accounts the lane has so many seconds later. */
async function aMinute(
  accountsAt: (second: number) => readonly LaneAccount[],
): Promise<LaneReport | { readonly error: unknown }> {
  const beganMs = scheduler.now();
  const stop = new AbortController();
  const endsAtMs = beganMs + MINUTE_MS - 1_000;
  void scheduler.delay(undefined, MINUTE_MS - 1_000).then(() => stop.abort(new Error('deadline')));
  const clock = scheduler.clockOf({ name: 'lane', isCrashed: false, clockSkewMs: 0 });
  const telemetry = {
    log: (level: string, event: string, fields: LogFields = {}) => void logged.push({ level, event, fields }),
    measure: (metric: string, value: number) => void measured.push(`${metric} ${value}`),
  };
  const accounts = async () => accountsAt((scheduler.now() - beganMs) / 1_000);
  const nudges = {
    async read() {
      if (nudged.includes('unreadable')) throw new RangeError('the table is busy');
      return nudged.splice(0);
    },
  };
  const running = runLane({ accounts, nudges, clock, telemetry }, setAside, {
    signal: stop.signal,
    leaseMs: () => endsAtMs - scheduler.now(),
  })
    .catch((error: unknown) => ({ error }))
    .finally(() => {
      laneEndedAtS = seconds();
    });
  await scheduler.runUntil(beganMs + MINUTE_MS);
  return running;
}

describe('a lane', () => {
  test('polls all its accounts at the same time, and adds up what they did', async () => {
    const report = await aMinute(() => [anAccount('a'), anAccount('b')]);

    expect(notes).toEqual(['0 a begins with settings', '0 b begins with settings', '59 a ends', '59 b ends']);
    expect(report).toEqual({ outcomes: { stopped: 2 }, pollCount: 4, recordedCount: 2, publishedCount: 2 });
  });

  test('ends early when no account is polled any more', async () => {
    const early = async () => {
      await scheduler.delay(undefined, 3_000);
      return DONE;
    };
    await aMinute(() => [anAccount('a', early), anAccount('b', early)]);

    expect(notes.filter((note) => note.includes('begins'))).toHaveLength(2);
    expect(laneEndedAtS).toBe(3);
  });

  test('waits at its end for what its accounts still have to write', async () => {
    const slow = async (invocation: Invocation) => {
      await untilStopped(invocation);
      await scheduler.delay(undefined, 500);
      return DONE;
    };
    const report = await aMinute(() => [anAccount('a', slow), anAccount('b')]);

    expect(report).toMatchObject({ outcomes: { stopped: 2 }, pollCount: 4 });
    expect(laneEndedAtS).toBe(60);
  });

  test('goes on for an account whose lease is held when all others are done', async () => {
    const held = async () => (seconds() < 20 ? HELD : DONE);
    const report = await aMinute(() => [anAccount('a', async () => DONE), anAccount('b', held)]);

    expect(notes.filter((note) => note.includes('b begins'))).toHaveLength(3);
    expect([report, laneEndedAtS]).toMatchObject([{ outcomes: { stopped: 2 } }, 30]);
  });

  test('ends when it has no account', async () => {
    expect(await aMinute(() => [])).toMatchObject({ outcomes: {}, pollCount: 0 });
  });
});

describe('while a lane runs', () => {
  test('an account that is added is polled within seconds', async () => {
    await aMinute((second) => [anAccount('a'), ...(second > 1 ? [anAccount('b')] : [])]);

    expect(notes[1]).toBe(`${ACCOUNTS_LOOK_MS / 1_000} b begins with settings`);
  });

  test('an account that is paused, removed or moved to another lane is left, and the others go on', async () => {
    await aMinute((second) => [anAccount('a'), ...(second < 1 ? [anAccount('b')] : [])]);

    expect(notes.slice(2)).toEqual(['15 b ends', '59 a ends']);
  });

  test('an account whose settings change is polled anew with the new ones', async () => {
    await aMinute((second) => [anAccount('a', untilStopped, second < 1 ? 'old' : 'new')]);

    expect(notes).toEqual(['0 a begins with old', '15 a ends', '30 a begins with new', '59 a ends']);
  });

  test('an account for which another process has left work hears of it within a second, and no other does', async () => {
    void scheduler.delay(undefined, 20_500).then(() => nudged.push('b', 'of-another-lane'));
    await aMinute(() => [anAccount('a'), anAccount('b')]);

    expect(notes.filter((note) => note.includes('nudged'))).toEqual(['21 b is nudged']);
    expect(logged).toEqual([]);
  });

  test('nudges that cannot be read are read again every five seconds, and none is lost', async () => {
    nudged.push('unreadable', 'a');
    void scheduler.delay(undefined, 12_000).then(() => nudged.shift());
    await aMinute(() => [anAccount('a')]);

    expect(notes.filter((note) => note.includes('nudged'))).toEqual(['15 a is nudged']);
    expect(logged).toEqual(
      Array.from({ length: 3 }, () => ({
        level: 'warn',
        event: 'nudges.not_read',
        fields: { reason: 'RangeError' },
      })),
    );
  });

  test('accounts that cannot be listed are polled as before', async () => {
    await aMinute((second) => {
      if (second > 1) throw new Error('the table is busy');
      return [anAccount('a')];
    });

    expect(notes).toEqual(['0 a begins with settings', '59 a ends']);
    expect(logged[0]).toEqual({
      level: 'warn',
      event: 'lane.accounts_not_read',
      fields: { reason: 'Error' },
    });
  });

  test('an account whose lease another process holds is tried again, until it is released', async () => {
    const held = async () => (seconds() < 20 ? HELD : DONE);
    const report = await aMinute(() => [anAccount('a', held)]);

    expect(notes.filter((note) => note.includes('begins'))).toEqual([
      '0 a begins with settings',
      '15 a begins with settings',
      '30 a begins with settings',
    ]);
    expect(report).toMatchObject({ outcomes: { stopped: 1 } });
  });

  test('the lease of an account that begins later is shorter, so that it ends with the invocation', async () => {
    const leases: number[] = [];
    const noted = (invocation: Invocation) => {
      leases.push(invocation.leaseMs);
      return untilStopped(invocation);
    };
    await aMinute((second) => (second < 1 ? [anAccount('a', noted)] : [anAccount('b', noted)]));

    expect(leases).toEqual([59_000, 44_000]);
  });
});

describe('an account whose poller throws', () => {
  const lane = () => [anAccount('good'), anAccount('bad', fails('a defect'))];

  test('does not stop the others, and is reported by its name', async () => {
    const report = await aMinute(lane);

    expect(notes.at(-1)).toBe('59 good ends');
    expect(report).toMatchObject({ outcomes: { stopped: 1, failed: 1 }, pollCount: 2 });
    expect(logged[0]).toEqual({
      level: 'error',
      event: 'account.failed',
      fields: { account_id: 'bad', reason: 'TypeError', detail: 'a defect' },
    });
  });

  test('is set aside for growing times, and polled again after each', async () => {
    for (let minute = 0; minute < 16; minute++) await aMinute(lane);

    const begins = notes
      .filter((note) => note.includes('bad begins'))
      .map((note) => Number.parseInt(note, 10));
    expect(begins.map((second) => Math.round(second / 60))).toEqual([0, 2, 5, 10]);
  });

  test('is measured in every minute in which it fails or waits, so that the alarm stays', async () => {
    for (let minute = 0; minute < 16; minute++) await aMinute(lane);

    expect(measured).toEqual(Array.from({ length: 16 }, () => 'AccountsSetAside 1'));
  });

  test('is an account like any other once its poller has ended well', async () => {
    let isBroken = true;
    const mended = (invocation: Invocation) => (isBroken ? fails('a defect')() : untilStopped(invocation));
    const accounts = () => [anAccount('good'), anAccount('bad', mended)];
    await aMinute(accounts);
    isBroken = false;
    await aMinute(accounts);
    measured = [];
    await aMinute(accounts);

    expect([setAside.size, measured]).toEqual([0, []]);
  });

  test('fails the invocation when it is the only one, and is polled again in the next minute', async () => {
    const alone = () => [anAccount('bad', fails('a defect'))];

    expect(await aMinute(alone)).toMatchObject({ error: { message: 'a defect' } });
    await aMinute(alone);
    expect(notes.filter((note) => note.includes('begins'))).toHaveLength(2);
  });

  test('is not set aside when all accounts of the lane fail, because the table may be in trouble', async () => {
    await aMinute(() => [anAccount('a', fails('table')), anAccount('b', fails('table'))]);

    expect(setAside.size).toBe(0);
  });
});
