import { expect, test } from 'vitest';
import { refusedCount } from './naive/naive-client.ts';
import { runNaiveDirectly, runNaiveThroughBridge } from './naive/naive-world.ts';

const OPTIONS = { seed: 7, rounds: 10 };

test('a client that does not wait is refused by the upstream, and not through the bridge with --settle', async () => {
  const directly = await runNaiveDirectly(OPTIONS);
  const waiting = await runNaiveThroughBridge({ ...OPTIONS, settles: false });
  const settling = await runNaiveThroughBridge({ ...OPTIONS, settles: true });

  console.log(
    `refused calls of ten rounds: ${refusedCount(directly)} directly, ${refusedCount(waiting)} through the bridge, ` +
      `${refusedCount(settling)} through the bridge with --settle`,
  );
  expect(refusedCount(directly)).toBeGreaterThan(10);
  expect(refusedCount(waiting)).toBeGreaterThan(0);
  expect({ ...settling, refused: refusedCount(settling) }).toMatchObject({
    callCount: 50,
    refused: 0,
    skippedCount: 0,
  });
  // Locks are waited for in the table, so no command is sent twice.
  expect(settling.upstreamCommandCount).toBe(50);
}, 60_000);
