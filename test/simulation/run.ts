/**
 * Runs many seeds of the simulation and says what broke.
 *
 *   npm run simulate -- --seeds 20000            many seeds, on all cores
 *   npm run simulate -- --seed 5268              one seed, with its options and violations
 *   npm run simulate -- --seeds 500 --world wide      one of the two worlds alone: close or wide
 *   npm run simulate -- --seed 526 --world wide --trace   and one line for everything that happened in it
 *   npm run simulate -- --seed 526 --world close --trace  one line for each step that the protocol's model has followed
 */

import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import {
  describeRejection,
  merge,
  runShare,
  type Share,
  type ShareResult,
  silentKinds,
  WORLDS,
  type World,
} from './campaign.ts';
import { simulate } from './simulate.ts';
import { simulateWide } from './wide/simulate-wide.ts';
import type { Trace } from './wide/world.ts';

const FAILURES_SHOWN_MAX = 40;

/** After each share its thread reports, and takes the next one. A share of both worlds takes about a minute. */
const SEEDS_OF_A_SHARE_MAX = 500;

interface Runner {
  run(share: Share): Promise<ShareResult>;
  end(): Promise<unknown>;
}

const THIS_THREAD: Runner = { run: runShare, end: async () => {} };

// A computation in local time is the same as one in UTC on most machines that run this. Here it is nine hours off.
process.env['TZ'] = 'Asia/Tokyo';

if (isMainThread) process.exitCode = await main();
else takeShares();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      jobs: { type: 'string', default: String(availableParallelism()) },
      world: { type: 'string', default: 'both' },
      trace: { type: 'boolean', default: false },
      'stop-at-first': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const worlds = WORLDS.filter((world) => values.world === 'both' || values.world === world);
  if (worlds.length === 0) throw new Error('--world takes close, wide or both');
  if (values.seed !== undefined) return replay(Number(values.seed), worlds, values.trace);
  const result = await runAll({
    from: Number(values.from),
    count: Number(values.seeds),
    jobs: Number(values.jobs),
    stopAtFirst: values['stop-at-first'],
    worlds,
  });
  const silent = silentKinds(result, worlds);
  if (values.json) console.log(JSON.stringify({ ...result, silent }));
  else print(result, silent);
  const hasBroken = result.failures.length + result.rejected.length > 0;
  return hasBroken || (!values['stop-at-first'] && silent.length > 0) ? 1 : 0;
}

async function replay(seed: number, worlds: readonly World[], isTraced: boolean): Promise<number> {
  let violationCount = 0;
  if (worlds.includes('close')) {
    const trace = isTraced ? (line: string) => console.log(line) : undefined;
    const { options, violations, rejections, delivered, fired } = await simulate(seed, undefined, trace);
    console.log(
      JSON.stringify({ options, fired: Object.fromEntries(fired), events: delivered.length }, null, 2),
    );
    for (const { rule, operation_id, detail } of violations)
      console.log(`close: ${rule}: ${operation_id} ${detail}`);
    for (const rejection of rejections) console.log(describeRejection('close', rejection));
    violationCount += violations.length + rejections.length;
  }
  if (worlds.includes('wide')) {
    const { plan, violations, rejections, fired, eventCount, requestCount } = await simulateWide(seed, {
      trace: isTraced ? printLine : undefined,
      stepTrace: isTraced ? (line) => console.log(line) : undefined,
    });
    console.log(
      JSON.stringify({ plan, fired: Object.fromEntries(fired), eventCount, requestCount }, null, 2),
    );
    for (const { rule, operation_id, detail } of violations)
      console.log(`wide: ${rule}: ${operation_id} ${detail}`);
    for (const rejection of rejections) console.log(describeRejection('wide', rejection));
    violationCount += violations.length + rejections.length;
  }
  console.log(violationCount === 0 ? 'The run keeps the promise.' : 'The run breaks the promise.');
  return violationCount === 0 ? 0 : 1;
}

function printLine({ atMs, who, what, why }: Parameters<Trace>[0]): void {
  const WHO_COLUMNS = 12;
  console.log(
    `${new Date(atMs).toISOString()}  ${who.padEnd(WHO_COLUMNS)} ${what}${why === '' ? '' : `  (${why})`}`,
  );
}

/** Each job runs one share after the other. Of several jobs each has a thread of its own. */
async function runAll({ jobs, ...plan }: Share & { readonly jobs: number }): Promise<ShareResult> {
  const shares = sharesOf(plan, jobs);
  const report = shares.length > jobs ? reportProgress(plan.count) : () => {};
  const results: ShareResult[] = [];
  const runShares = async () => {
    const runner = jobs > 1 ? startThread() : THIS_THREAD;
    for (let share = shares.shift(); share !== undefined; share = shares.shift()) {
      const result = await runner.run(share);
      results.push(result);
      report(result);
      if (plan.stopAtFirst && result.failures.length > 0) shares.length = 0;
    }
    await runner.end();
  };
  await Promise.all(Array.from({ length: jobs }, runShares));
  return results.reduce(merge);
}

function sharesOf({ from, count, ...plan }: Share, jobs: number): Share[] {
  const size = Math.min(SEEDS_OF_A_SHARE_MAX, Math.ceil(count / jobs));
  return Array.from({ length: Math.ceil(count / size) }, (_, index) => ({
    ...plan,
    from: from + index * size,
    count: Math.min(size, count - index * size),
  }));
}

/** A campaign takes long, so its progress and every seed that broke a promise go to standard error at once. */
function reportProgress(seedCount: number): (result: ShareResult) => void {
  let doneCount = 0;
  return (result) => {
    doneCount += result.seedCount;
    console.error(`${doneCount} of ${seedCount} seeds have run.`);
    for (const { seed, violations } of result.failures) console.error(`  seed ${seed}: ${violations[0]}`);
  };
}

/**
 * Starts a thread that runs shares until it is ended. Its imports, and the compilation of what is called often,
 * cost seconds, so a job keeps its thread.
 */
function startThread(): Runner {
  const worker = new Worker(new URL(import.meta.url));
  return {
    async run(share) {
      worker.postMessage(share);
      const [result] = (await once(worker, 'message')) as [ShareResult];
      return result;
    },
    end: () => worker.terminate(),
  };
}

/** A thread answers each share that it is sent with the result. */
function takeShares(): void {
  const answer = async (share: Share) => parentPort?.postMessage(await runShare(share));
  parentPort?.on('message', (share: Share) => {
    void answer(share);
  });
}

function print(
  { seedCount, eventCount, fired, failures, rejected }: ShareResult,
  silent: readonly string[],
): void {
  console.log(
    `${seedCount} seeds, ${eventCount} events delivered, ${failures.length} seeds broke the promise, ${rejected.length} were rejected by the model`,
  );
  const NAME_COLUMNS = 30;
  console.log(
    Object.entries(fired)
      .map(([kind, times]) => `  ${kind.padEnd(NAME_COLUMNS)} ${times}`)
      .join('\n'),
  );
  if (silent.length > 0) console.log(`never fired: ${silent.join(', ')}`);
  for (const { seed, violations } of failures.slice(0, FAILURES_SHOWN_MAX)) {
    console.log(`seed ${seed} (npm run simulate -- --seed ${seed})\n  ${violations.join('\n  ')}`);
  }
  for (const { seed, rejections } of rejected.slice(0, FAILURES_SHOWN_MAX))
    console.log(`seed ${seed} (npm run simulate -- --seed ${seed} --trace)\n  ${rejections.join('\n  ')}`);
}
