/** Tests that a caller whose limit is far away hardly ever waits for the table, which gives permits once a second. */

import { expect, test } from 'vitest';
import { createFairShare } from '../../shared/commands/permits/fair-share.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { createCommandUsage } from '../../shared/store/command-usage.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createScheduler } from '../simulation/scheduler.ts';

const START_MS = 1_000_000;
const CALL_MS = 55;

interface Sending {
  /** It is the limit of the account and of the caller. */
  readonly requestsPerMinute: number;
  readonly requestCount: number;
  /** The caller sends its next request this long after the one before has left. */
  readonly pauseMs: number;
}

/** Returns for how long each request was held, in milliseconds. */
async function heldMsOf({ requestsPerMinute, requestCount, pauseMs }: Sending): Promise<readonly number[]> {
  const scheduler = createScheduler(START_MS);
  const clock = scheduler.clockOf({ name: 'api', isCrashed: false, clockSkewMs: 0 });
  const share = createFairShare({
    clock,
    requestsPerMinute,
    callerRequestsPerMinute: requestsPerMinute,
    usage: createCommandUsage(createMemoryTable().as('api'), 'main'),
    telemetry: silentTelemetry,
    instancesMax: 1,
  });
  const heldMs: number[] = [];
  const send = async () => {
    for (let request = 0; request < requestCount; request++) {
      const askedAtMs = clock.now();
      expect(await share.admit('the-caller')).toBe(0);
      await share.budget.take();
      heldMs.push(clock.now() - askedAtMs);
      await clock.sleep(pauseMs);
    }
  };
  const sending = send();
  await scheduler.runUntil(START_MS + 300_000);
  await sending;
  expect(heldMs).toHaveLength(requestCount);
  return heldMs;
}

test('a caller alone who sends one request after the other is held at the beginning, and hardly ever afterwards', async () => {
  const heldMs = await heldMsOf({ requestsPerMinute: 6_000, requestCount: 500, pauseMs: CALL_MS });

  const total = heldMs.reduce((sum, each) => sum + each, 0);
  expect(total).toBeLessThan(0.1 * heldMs.length * CALL_MS);
  expect(Math.max(...heldMs.slice(150))).toBeLessThanOrEqual(20);
});

test.each([120, 300, 900])(
  'a caller who sends a request every %i ms, fewer than the limit, is not held any more after twenty',
  async (pauseMs) => {
    const heldMs = await heldMsOf({ requestsPerMinute: 700, requestCount: 100, pauseMs });

    expect(Math.max(...heldMs.slice(20))).toBe(0);
  },
);
