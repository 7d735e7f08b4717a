/**
 * `npm run bench` measures how soon a transition is detected, and compares it with the theoretical bound and with
 * other ways to poll.
 */

import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Figures, Row } from './measure.ts';
import { delayPlot } from './report/plot.ts';
import { tableHead, tableLine } from './report/table.ts';
import { CONTENDERS, ENGINES, HINTED_RIVALS, PLANNERS, RIVALS, SCENARIOS } from './rivals/contenders.ts';
import { worldNamed } from './world/drawn-world.ts';
import { WORLDS } from './world/world.ts';

const HELP = `npm run bench -- [options]   delays, requests and writes on virtual time; figures on stdout, progress on stderr
  --projects N,..  numbers of projects of the account (default 50,500,5000)
  --policy A,B     only these policies (default: all ways to poll; also ${SCENARIOS.map(({ name }) => name).join(', ')})
  --world A,B      the worlds (default matched; all, or ${WORLDS.map(({ name }) => name).join(', ')})
  --seed S,..      these seeds (default 1)
  --rpm R,..       requests a minute (default 700)
  --engine E       whole (all of the poller) or ideal (its planner alone, ten times as quick); usually whole for
                   planners and ideal for rivals
  --hours H        hours that are measured, around the hour of the day's mean rate (default 4)
  --json           one line of figures per row
  --svg FILE       draw mean delay against requests a minute; needs several rates in --rpm`;

const policyNames = CONTENDERS.map(({ name }) => name);
const usualNames = [...RIVALS, ...PLANNERS, ...HINTED_RIVALS].map(({ name }) => name);

const THREADS_MAX = 8;

interface Options {
  readonly rows: readonly Row[];
  readonly json: boolean;
  readonly svg: string | undefined;
}

function parseOptions(): Options | undefined {
  const { values } = parseArgs({
    options: {
      projects: { type: 'string', default: '50,500,5000' },
      policy: { type: 'string' },
      world: { type: 'string', default: 'matched' },
      seed: { type: 'string', default: '1' },
      rpm: { type: 'string', default: '700' },
      engine: { type: 'string' },
      hours: { type: 'string', default: '4' },
      json: { type: 'boolean', default: false },
      svg: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const policies = values.policy?.split(',') ?? usualNames;
  const unknown = policies.filter((policy) => !policyNames.includes(policy));
  if (unknown.length > 0)
    throw new RangeError(
      `--policy: "${unknown.join(',')}" is unknown; the policies are ${policyNames.join(', ')}`,
    );
  const hours = numberOf('hours', values.hours, { min: 0.1, max: 720 });
  const engine = engineOf(values.engine);
  const sizes = listOf('projects', values.projects, { min: 1, max: 200_000 });
  const rates = listOf('rpm', values.rpm, { min: 10, max: 100_000 });
  const seeds = listOf('seed', values.seed, { min: 0, max: 2 ** 31 });
  const rows = worldsOf(values.world).flatMap((world) =>
    sizes.flatMap((projects) =>
      seeds.flatMap((seed) =>
        rates.flatMap((requestsPerMinute) =>
          policies.map(
            (policy): Row => ({ world, policy, projects, seed, hours, requestsPerMinute, engine }),
          ),
        ),
      ),
    ),
  );
  return { rows, json: values.json, svg: values.svg };
}

function engineOf(text: string | undefined): Row['engine'] {
  const engine = ENGINES.find((name) => name === text);
  if (engine !== undefined || text === undefined) return engine;
  throw new RangeError(`--engine: "${text}" is unknown; the engines are ${ENGINES.join(' and ')}`);
}

function worldsOf(text: string): readonly string[] {
  const names = text === 'all' ? WORLDS.map(({ name }) => name) : text.split(',');
  return names.map((name) => worldNamed(name).name);
}

function listOf(name: string, text: string, bounds: Bounds): readonly number[] {
  return text.split(',').map((each) => numberOf(name, each, bounds));
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

function numberOf(name: string, text: string, { min, max }: Bounds): number {
  const value = Number(text);
  if (value >= min && value <= max) return value;
  throw new RangeError(`--${name} takes numbers from ${min} to ${max}, not "${text}"`);
}

async function main({ rows, json, svg }: Options): Promise<void> {
  const results = new Map<number, Figures>();
  let begun = 0;
  let printed = 0;
  if (!json) console.log(tableHead);
  // The failure of one row ends all threads.
  await using threads = new AsyncDisposableStack();
  const work = async () => {
    const worker = new Worker(new URL('./worker.ts', import.meta.url));
    threads.defer(async () => {
      await worker.terminate();
    });
    for (let place = begun++; place < rows.length; place = begun++) {
      const row = rows[place];
      if (row === undefined) break;
      results.set(
        place,
        await measuredBy(worker, row, (hour) =>
          reportProgress(`row ${place + 1} of ${rows.length}: ${describe(row)}, hour ${hour}`),
        ),
      );
      print();
    }
  };
  const threadCount = Math.min(rows.length, availableParallelism(), THREADS_MAX);
  await Promise.all(Array.from({ length: threadCount }, work));
  if (svg !== undefined) writeFileSync(svg, delayPlot([...results.values()]));

  /** Prints in the order of the rows, whichever thread finishes first. */
  function print(): void {
    for (let next = results.get(printed); next !== undefined; next = results.get(printed)) {
      console.log(json ? JSON.stringify(next) : tableLine(next));
      printed += 1;
    }
  }
}

function measuredBy(worker: Worker, row: Row, onHour: (hour: number) => void): Promise<Figures> {
  onHour(0);
  return new Promise((resolve, reject) => {
    const onMessage = (
      message:
        | { readonly kind: 'hour'; readonly hour: number }
        | { readonly kind: 'figures'; readonly figures: Figures },
    ) => {
      if (message.kind === 'hour') return onHour(message.hour);
      worker.off('message', onMessage).off('error', reject);
      resolve(message.figures);
    };
    worker.on('message', onMessage).on('error', reject).postMessage(row);
  });
}

function describe({ world, policy, projects, seed }: Row): string {
  return `${policy} in ${world} with ${projects} projects, seed ${seed}`;
}

/** Overwrites the last report in a terminal, and prints a line for each report elsewhere. */
function reportProgress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}\r` : `${text}\n`);
}

try {
  const options = parseOptions();
  if (options === undefined) console.log(HELP);
  else await main(options);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
