import { describe, expect, test } from 'vitest';
import { createLease } from '../../functions/poller/account/lease.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';

const LEASE_MS = 59_500;

/** Creates processes that poll one account, each with clocks of its own that a test moves. */
function anAccount() {
  const table = createMemoryTable().as('poller');
  let processCount = 0;
  return {
    newProcess(startMs = NOON_MS) {
      const times = { nowMs: startMs, monotonicMs: 0 };
      const clock = {
        now: () => times.nowMs,
        sleep: async (durationMs: number) => {
          times.nowMs += durationMs;
        },
      };
      const budget = createRequestBudget({
        clock,
        requestsPerMinute: 600,
        burst: 6,
        startsEmpty: true,
      });
      const name = `process-${processCount++}`;
      let count = 0;
      const lease = createLease({
        store: createBridgeStore(table, 'main', clock),
        clock,
        monotonicMs: () => times.monotonicMs,
        newId: () => `${name}-${count++}`,
        budget,
      });
      return {
        lease,
        budget,
        now: () => times.nowMs,
        pass(durationMs: number, monotonicMs = durationMs) {
          times.nowMs += durationMs;
          times.monotonicMs += monotonicMs;
        },
      };
    },
  };
}

/** Takes permits for as long as the lease holds, and returns the times at which they came. */
async function sendFor({ lease, budget, now }: ReturnType<ReturnType<typeof anAccount>['newProcess']>) {
  const sentAtMs: number[] = [];
  while (lease.holds()) {
    await budget.take();
    if (lease.holds()) sentAtMs.push(now());
  }
  return sentAtMs;
}

function mostInAMinute(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.max(...sorted.map((from) => sorted.filter((at) => at >= from && at < from + 60_000).length));
}

describe('a lease', () => {
  test('is held by one process at a time', async () => {
    const account = anAccount();
    const [first, second] = [account.newProcess(), account.newProcess()];

    expect(await first.lease.acquire(LEASE_MS)).toBe(true);
    expect(await second.lease.acquire(LEASE_MS)).toBe(false);
    expect([first.lease.holds(), second.lease.holds()]).toEqual([true, false]);
    await first.lease.release();
    expect(await second.lease.acquire(LEASE_MS)).toBe(true);
    expect([first.lease.holds(), second.lease.holds()]).toEqual([false, true]);
  });

  test.each([
    ['its monotonic clock went on', 0, LEASE_MS],
    ['only the clock of the machine went on', LEASE_MS, 0],
    ['the clock of the machine was set back', -3_600_000, LEASE_MS],
  ])('is over for a process that was frozen, when %s', async (_what, wallMs, monotonicMs) => {
    const frozen = anAccount().newProcess();
    await frozen.lease.acquire(LEASE_MS);
    frozen.pass(1_000);
    expect(frozen.lease.holds()).toBe(true);
    frozen.pass(wallMs, monotonicMs);

    expect(frozen.lease.holds()).toBe(false);
  });

  test('that a frozen process gives back late does not end the one of its successor', async () => {
    const account = anAccount();
    const [frozen, next] = [account.newProcess(), account.newProcess()];
    await frozen.lease.acquire(LEASE_MS);
    next.pass(LEASE_MS + 1);
    expect(await next.lease.acquire(LEASE_MS)).toBe(true);
    await frozen.lease.release();
    const third = account.newProcess(NOON_MS + LEASE_MS + 2);

    expect(await third.lease.acquire(LEASE_MS)).toBe(false);
  });
});

describe('what was spent of the rate limit', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'is handed over, so that processes in turn never send more than the limit in any minute (seed %i)',
    async (seed) => {
      const random = seededRandom(seed);
      const account = anAccount();
      const processes = Array.from({ length: 1 + seed }, () => account.newProcess());
      const times: number[] = [];
      let startsAtMs = NOON_MS;
      while (startsAtMs < NOON_MS + 10 * 60_000) {
        const process = processes[Math.floor(random.next() * processes.length)];
        if (process === undefined) throw new Error('no process');
        const leaseMs = 1_000 + Math.floor(random.next() * 20_000);
        process.pass(startsAtMs - process.now());
        expect(await process.lease.acquire(leaseMs)).toBe(true);
        times.push(...(await sendFor(process)));
        // Some processes are killed, and hand nothing over.
        if (random.next() < 0.7) await process.lease.release();
        startsAtMs = Math.max(startsAtMs + leaseMs + 1, process.now() + 1);
      }

      expect(mostInAMinute(times)).toBeLessThanOrEqual(600);
      expect(times.length).toBeGreaterThan(10 * 450);
    },
  );
});
