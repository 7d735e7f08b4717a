import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, test } from 'vitest';
import { createNudgeBell } from '../../functions/poller/nudges.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createScheduler } from '../simulation/scheduler.ts';

const START_MS = Date.UTC(2026, 0, 15, 12);

let scheduler: ReturnType<typeof createScheduler>;
let clock: Clock;

beforeEach(() => {
  scheduler = createScheduler(START_MS);
  clock = scheduler.clockOf({ name: 'poller', isCrashed: false, clockSkewMs: 0 });
});

/** Runs a loop that looks and pauses, for two minutes, and resolves to the seconds of its looks. */
async function looksOf(bell: ReturnType<typeof createNudgeBell>, ringsAtS: readonly number[]) {
  const stop = new AbortController();
  const looksAtS: number[] = [];
  const pause = bell.listen();
  const loop = async () => {
    while (!stop.signal.aborted) {
      looksAtS.push((scheduler.now() - START_MS) / 1_000);
      await pause(60_000, stop.signal);
    }
  };
  void loop();
  for (const ringAtS of ringsAtS) void scheduler.delay(undefined, ringAtS * 1_000).then(() => bell.ring());
  await scheduler.runUntil(START_MS + 119_500);
  stop.abort();
  await scheduler.runUntil(START_MS + 120_000);
  return looksAtS;
}

describe('a loop that waits for work', () => {
  test('looks once a minute while the bell is not rung', async () => {
    expect(await looksOf(createNudgeBell(clock), [])).toEqual([0, 60]);
  });

  test('looks at once when the bell rings, and for some seconds after it, because an index may lag behind', async () => {
    expect(await looksOf(createNudgeBell(clock), [20])).toEqual([0, 20, 21, 22, 23, 24, 84]);
  });

  test('hears a bell that rings while it looks', async () => {
    const bell = createNudgeBell(clock);
    const pause = bell.listen();
    bell.ring();
    let isOver = false;
    void pause(60_000, new AbortController().signal).then(() => {
      isOver = true;
    });
    await scheduler.runUntil(START_MS + 1);

    expect(isOver).toBe(true);
  });

  test('ends its wait when the invocation ends', async () => {
    const stop = new AbortController();
    let isOver = false;
    void createNudgeBell(clock)
      .listen()(60_000, stop.signal)
      .then(() => {
        isOver = true;
      });
    stop.abort();
    await scheduler.runUntil(START_MS + 1);

    expect(isOver).toBe(true);
  });
});

describe('after a wait', () => {
  /** Waits until the bell rings, and returns the signals that the clock and the wait got. */
  async function afterARing() {
    const sleeps: AbortSignal[] = [];
    const patient: Clock = {
      now: () => START_MS,
      sleep: (_durationMs, signal) => {
        if (signal !== undefined) sleeps.push(signal);
        return new Promise(() => {});
      },
    };
    const bell = createNudgeBell(patient);
    const { signal } = new AbortController();
    const wait = bell.listen()(60_000, signal);
    bell.ring();
    await wait;
    return { signal, sleeps };
  }

  test('the timer is over, so that no timer of an earlier wait keeps the process alive', async () => {
    expect((await afterARing()).sleeps.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('nothing listens to the signal of the invocation any more, which has thousands of waits', async () => {
    expect(getEventListeners((await afterARing()).signal, 'abort')).toEqual([]);
  });
});

test('a wait that begins when the invocation has ended is over at once', async () => {
  let isOver = false;
  void createNudgeBell(clock)
    .listen()(60_000, AbortSignal.abort())
    .then(() => {
      isOver = true;
    });
  await scheduler.runUntil(START_MS + 1);

  expect(isOver).toBe(true);
});

test('two loops hear the same ring', async () => {
  const bell = createNudgeBell(clock);
  const heard: string[] = [];
  for (const name of ['a', 'b'])
    void bell
      .listen()(60_000, new AbortController().signal)
      .then(() => heard.push(name));
  bell.ring();
  await scheduler.runUntil(START_MS + 1);

  expect(heard).toEqual(['a', 'b']);
});
