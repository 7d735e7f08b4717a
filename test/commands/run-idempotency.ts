/**
 * Runs consecutive seeds (`node test/commands/run-idempotency.ts FROM COUNT`), and prints the first that breaks a
 * rule as JSON, or null.
 */

import { simulateIdempotency } from './idempotency-simulation.ts';

const [from = 0, count = 100] = process.argv.slice(2).map(Number);
let broken: { seed: number; violations: unknown } | null = null;
for (let seed = from; seed < from + count && broken === null; seed++) {
  const violations = await simulateIdempotency(seed);
  if (violations.length > 0) broken = { seed, violations };
}
console.log(JSON.stringify(broken));
