import { describe, expect, test } from 'vitest';
import { STOP_RESERVE_MS } from '../../functions/poller/account/wind-up.ts';
import { aSlowAccount } from './slow-account.ts';

describe('an invocation with a slow table', () => {
  test.each([
    { seed: 1, tableMs: 65, busMs: 25 },
    { seed: 2, tableMs: 200, busMs: 25 },
    { seed: 3, tableMs: 200, busMs: 1_000 },
  ])(
    'ends by itself with $tableMs ms a table call and $busMs ms a call of the bus',
    {
      timeout: 120_000,
    },
    async ({ seed, tableMs, busMs }) => {
      const minutes = 2;
      const account = aSlowAccount({
        seed,
        projectCount: 4,
        operationCount: 400,
        // These are enough for rows to be written when the stop signal comes.
        historyCount: 10_000,
        minutes,
        tableMs,
        busMs,
      });
      await account.leaveUnsent(2_000);
      await account.run(minutes);
      const { counts } = account;

      expect(counts.killedCount).toBe(0);
      expect(counts.endedCount).toBe(minutes);
      expect(counts.takenCount).toBeGreaterThan(1_000);
      expect(account.copyCount()).toBeLessThanOrEqual(0.005 * counts.takenCount);
      expect(counts.windUpMsMax).toBeLessThanOrEqual(STOP_RESERVE_MS - 500);
      expect(counts.statusWrittenCount).toBe(minutes);
      expect(counts.measured.get('InvocationsCutShort')).toBeUndefined();
    },
  );

  test.each(['update', 'get', 'getMany', 'findWorkPage', 'publish'])(
    'ends by itself when a call of %s is never answered',
    async (name) => {
      const account = aSlowAccount({
        seed: 4,
        projectCount: 5,
        operationCount: 1_500,
        minutes: 3,
        tableMs: 25,
        busMs: 25,
      });
      await account.leaveUnsent(200);
      await account.run(1);
      account.hangFrom(57_000, name);
      await account.run(1);
      const { counts } = account;

      expect(counts.killedCount).toBe(0);
      expect(counts.endedCount).toBe(2);
      expect(counts.measured.get('InvocationsCutShort')).toBeGreaterThan(0);
    },
  );
});
