import { expect, test } from 'vitest';
import { createAccountBudget, shareWithCommands } from '../../../functions/poller/account/account-budget.ts';
import { leastHeldBy } from '../../../shared/rates/account-rate.ts';
import { EMPTY_LEDGER, type Ledger } from '../../../shared/rates/ledger.ts';
import { MINUTE_MS } from '../../../shared/records/time.ts';
import { NOON_MS, only } from '../../builders.ts';
import { createScheduler } from '../../simulation/scheduler.ts';

const RATE = { pollerRequestsPerMinute: 350, commandRequestsPerMinute: 250, limitRequestsPerMinute: 700 };

/** Is a process that sends whatever it may, invocation by invocation, and the ledger that it shares with commands. */
function aBusyProcess() {
  const scheduler = createScheduler(NOON_MS);
  const process = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
  const clock = scheduler.clockOf(process);
  const budget = createAccountBudget({ clock, monotonicMs: () => scheduler.now() }, RATE);
  const stored = { ledger: EMPTY_LEDGER, version: 0, isReadable: true };
  const store = {
    async read() {
      if (!stored.isReadable) throw new Error('throttled');
      return { ledger: stored.ledger, version: stored.version };
    },
    async write(ledger: Ledger, version: number) {
      if (!stored.isReadable) throw new Error('throttled');
      if (version !== stored.version) return false;
      Object.assign(stored, { ledger, version: version + 1 });
      return true;
    },
  };
  const sentAtMs: number[] = [];
  const send = async (signal: AbortSignal) => {
    while (!signal.aborted) {
      await budget.take(signal);
      sentAtMs.push(scheduler.now());
      await clock.sleep(20, signal);
    }
  };
  return {
    process,
    budget,
    stored,
    nowMs: () => scheduler.now(),
    rest: (durationMs: number) => scheduler.runUntil(scheduler.now() + durationMs),
    sentSince: (atMs: number) => sentAtMs.filter((each) => each >= atMs).length,
    invoke: async (durationMs: number) => {
      const stop = new AbortController();
      void shareWithCommands(only({ commands: { store, rate: RATE }, budget, clock, signal: stop.signal }));
      for (let worker = 0; worker < 12; worker++) send(stop.signal).catch(() => {});
      await scheduler.runUntil(scheduler.now() + durationMs);
      stop.abort(new Error('The invocation ends'));
      await scheduler.runUntil(scheduler.now() + 50);
    },
  };
}

test('while the ledger cannot be read, a process that was warm sends no more than the poller holds in any case', async () => {
  const { invoke, rest, stored, budget, nowMs, sentSince } = aBusyProcess();
  await invoke(5 * MINUTE_MS);
  // Another process has polled meanwhile, and has left to commands what it did not need.
  const holds = leastHeldBy(RATE);
  Object.assign(stored, {
    ledger: { ...stored.ledger, poller: { holds, wants: holds } },
    version: stored.version + 1,
  });
  await rest(3 * MINUTE_MS);
  stored.isReadable = false;
  for (let minute = 0; minute < 3; minute++) {
    budget.takeOver({ next_at_ms: nowMs() - 1, ended_at_ms: nowMs() });
    const begunMs = nowMs();
    await invoke(MINUTE_MS);
    expect(sentSince(begunMs)).toBeLessThanOrEqual(holds);
  }

  stored.isReadable = true;
  const readableMs = nowMs();
  await invoke(2 * MINUTE_MS);
  expect(sentSince(readableMs)).toBeGreaterThan(350);
});

test('a process whose clock is set back sends at the same pace, and one burst more once it is put right', async () => {
  const { process, invoke, nowMs, sentSince } = aBusyProcess();
  await invoke(3 * MINUTE_MS);
  const perMinute: number[] = [];
  for (const clockSkewMs of [0, -20 * MINUTE_MS, -20 * MINUTE_MS, 0, 0]) {
    const begunMs = nowMs();
    process.clockSkewMs = clockSkewMs;
    await invoke(MINUTE_MS);
    perMinute.push(sentSince(begunMs));
  }

  const [usual = 0] = perMinute;
  expect(usual).toBeGreaterThan(500);
  const [, back, stillBack, putRight = 0, after] = perMinute;
  for (const count of [back, stillBack, after])
    expect(Math.abs((count ?? 0) - usual)).toBeLessThan(0.02 * usual);
  expect(putRight).toBeLessThan(1.1 * usual);
  expect(putRight).toBeGreaterThan(0.98 * usual);
});

test('a pause passes while the machine is frozen and its monotonic clock stands still', async () => {
  const scheduler = createScheduler(NOON_MS);
  const clock = scheduler.clockOf({ name: 'poller', isCrashed: false, clockSkewMs: 0 });
  const budget = createAccountBudget({ clock, monotonicMs: () => 0 }, RATE);
  budget.pauseFor(5 * MINUTE_MS);
  let hasLeft = false;
  void budget.take().then(() => {
    hasLeft = true;
  });

  await scheduler.runUntil(NOON_MS + 4 * MINUTE_MS);
  expect(hasLeft).toBe(false);
  await scheduler.runUntil(NOON_MS + 6 * MINUTE_MS);
  expect(hasLeft).toBe(true);
});
