/**
 * `npm run bench -- naive` prints how many calls of a client that does not wait are refused: directly, through the bridge,
 * and through the bridge with a token that was created with `--settle`. Everything runs on virtual time.
 */

import { refusedCount } from './naive/naive-client.ts';
import { type NaiveOutcome, runNaiveDirectly, runNaiveThroughBridge } from './naive/naive-world.ts';

const ROUNDS = Number(process.argv[2] ?? 100);
const options = { seed: 7, rounds: ROUNDS };

console.log(
  `${ROUNDS} rounds: create a branch, a compute, a database; change the compute; delete the branch.\n`,
);
report('directly', await runNaiveDirectly(options));
report('bridge', await runNaiveThroughBridge({ ...options, settles: false }));
report('bridge, --settle', await runNaiveThroughBridge({ ...options, settles: true }));

function report(name: string, outcome: NaiveOutcome): void {
  const { callCount, skippedCount, refusedByStatus, durationMs, upstreamCommandCount, answeredEarlyCount } =
    outcome;
  const statuses = [...refusedByStatus].map(([status, count]) => `${count} x ${status}`).join(', ');
  console.log(
    `${name.padEnd(18)}${callCount} calls, ${refusedCount(outcome)} refused${statuses && ` (${statuses})`}, ` +
      `${skippedCount} impossible, ${(durationMs / ROUNDS / 1_000).toFixed(1)} s a round` +
      (upstreamCommandCount > 0
        ? `, ${upstreamCommandCount} commands sent, ${answeredEarlyCount} answered early`
        : ''),
  );
}
