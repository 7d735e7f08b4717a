/**
 * Runs many seeds of the simulation and says what broke.
 *
 *   npm run simulate -- --seeds 20000            many seeds, on all cores
 *   npm run simulate -- --seed 5268              one seed, with its options and violations
 *   npm run simulate -- --seeds 500 --mutant no-compare-and-set    against a protocol with one rule broken
 */

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type FaultKind, faultKinds } from './options.ts';
import { simulate } from './simulate.ts';

interface Share {
  readonly from: number;
  readonly count: number;
  readonly stopAtFirst: boolean;
}

interface ShareResult {
  readonly seedCount: number;
  readonly eventCount: number;
  readonly fired: Partial<Record<FaultKind, number>>;
  readonly failures: readonly { readonly seed: number; readonly violations: readonly string[] }[];
}

const FAILURES_SHOWN_MAX = 10;

if (isMainThread) process.exitCode = await main();
else parentPort?.postMessage(await runShare(workerData as Share));

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      'stop-at-first': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.seed !== undefined) return replay(Number(values.seed));
  const result = await runAll({
    from: Number(values.from),
    count: Number(values.seeds),
    jobs: Number(values.jobs),
    stopAtFirst: values['stop-at-first'],
  });
  const silent = faultKinds.filter((kind) => (result.fired[kind] ?? 0) === 0);
  if (values.json) console.log(JSON.stringify({ ...result, silent }));
  else print(result, silent);
  return result.failures.length > 0 ? 1 : 0;
}

async function replay(seed: number): Promise<number> {
  const { options, violations, delivered, fired } = await simulate(seed);
  console.log(
    JSON.stringify({ options, fired: Object.fromEntries(fired), events: delivered.length }, null, 2),
  );
  for (const { rule, operation_id, detail } of violations) console.log(`${rule}: ${operation_id} ${detail}`);
  console.log(violations.length === 0 ? `Seed ${seed} keeps the promise.` : `Seed ${seed} breaks it.`);
  return violations.length === 0 ? 0 : 1;
}

async function runAll(plan: Share & { readonly jobs: number }): Promise<ShareResult> {
  const perJob = Math.ceil(plan.count / plan.jobs);
  const shares = Array.from({ length: plan.jobs }, (_, job) => ({
    from: plan.from + job * perJob,
    count: Math.min(perJob, plan.count - job * perJob),
    stopAtFirst: plan.stopAtFirst,
  })).filter(({ count }) => count > 0);
  const [only] = shares;
  const results =
    shares.length === 1 && only ? [await runShare(only)] : await Promise.all(shares.map(runInWorker));
  return results.reduce(merge);
}

function runInWorker(share: Share): Promise<ShareResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: share });
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function runShare({ from, count, stopAtFirst }: Share): Promise<ShareResult> {
  const fired: Partial<Record<FaultKind, number>> = {};
  const failures: { seed: number; violations: readonly string[] }[] = [];
  let eventCount = 0;
  let seedCount = 0;
  for (let seed = from; seed < from + count; seed++) {
    const result = await simulate(seed);
    seedCount += 1;
    eventCount += result.delivered.length;
    for (const [kind, times] of result.fired) fired[kind] = (fired[kind] ?? 0) + times;
    if (result.violations.length === 0) continue;
    const violations = result.violations.map(
      ({ rule, operation_id, detail }) => `${rule}: ${operation_id} ${detail}`,
    );
    failures.push({ seed, violations });
    if (stopAtFirst) break;
  }
  return { seedCount, eventCount, fired, failures };
}

function merge(a: ShareResult, b: ShareResult): ShareResult {
  const fired = { ...a.fired };
  for (const kind of faultKinds) fired[kind] = (fired[kind] ?? 0) + (b.fired[kind] ?? 0);
  return {
    seedCount: a.seedCount + b.seedCount,
    eventCount: a.eventCount + b.eventCount,
    fired,
    failures: [...a.failures, ...b.failures],
  };
}

function print({ seedCount, eventCount, fired, failures }: ShareResult, silent: readonly FaultKind[]): void {
  console.log(
    `${seedCount} seeds, ${eventCount} events delivered, ${failures.length} seeds broke the promise`,
  );
  console.log(faultKinds.map((kind) => `  ${kind.padEnd(30)} ${fired[kind] ?? 0}`).join('\n'));
  if (silent.length > 0) console.log(`never fired: ${silent.join(', ')}`);
  for (const { seed, violations } of failures.slice(0, FAILURES_SHOWN_MAX)) {
    console.log(`seed ${seed} (npm run simulate -- --seed ${seed})\n  ${violations.join('\n  ')}`);
  }
}
