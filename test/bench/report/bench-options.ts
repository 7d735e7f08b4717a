/** Reads the options of `npm run bench` and derives the rows that they ask for. */

import { parseArgs } from 'node:util';
import type { Row } from '../measure.ts';
import { CONTENDERS, ENGINES, HINTED_RIVALS, PLANNERS, RIVALS, SCENARIOS } from '../rivals/contenders.ts';
import { worldNamed } from '../world/drawn-world.ts';
import { WORLDS } from '../world/world.ts';
import { standardRows } from './standard-rows.ts';

export const HELP = `npm run bench -- [options]   delays, requests and writes on virtual time; figures on stdout, progress on stderr

Without options it measures every world with 50, 500 and 5,000 projects, twenty drawn worlds, and all rivals, and says
which goals are met. Ctrl-C ends it. These options ask for other rows:
  --world A,B      these worlds (${WORLDS.map(({ name }) => name).join(', ')}, drawn-N with any seed N, or all)
  --projects N,..  numbers of projects of the account, 1 to 20000 (default 50,500,5000); a single larger number, up to
                   200000, measures memory, decisions and the cold start of such an account, and takes only --rpm
  --policy A,B     only these policies (default: all planners and rivals; also ${SCENARIOS.map(({ name }) => name).join(', ')})
  --seed S,..      these seeds (default 1)
  --rpm R,..       requests a minute (default 700)
  --hours H        hours that are measured, around the hour of the day's mean rate (default 4)
  --engine E       whole (all of the poller) or ideal (its planner alone, ten times as quick); usually whole for
                   planners and ideal for rivals
and these say what becomes of the figures:
  --json           one line of figures per row
  --record         write the figures into test/bench/report/recorded.json and docs/performance.md
  --svg FILE       draw mean delay against requests a minute; needs several rates in --rpm`;

/** Above this size memory and the cold start are measured, because the world itself would fill the memory. */
const WORLD_PROJECTS_MAX = 20_000;
const LARGE_PROJECTS_MAX = 200_000;

export interface LargeAccount {
  readonly projects: number;
  readonly requestsPerMinute: number;
}

export interface BenchOptions {
  /** When it is defined, only this account is measured. */
  readonly large: LargeAccount | undefined;
  readonly rows: readonly Row[];
  /** The rows are those of a run without options, so the goals can be judged. */
  readonly isStandard: boolean;
  readonly json: boolean;
  readonly record: boolean;
  readonly svg: string | undefined;
}

const ROW_OPTIONS = ['world', 'projects', 'policy', 'seed', 'rpm', 'hours', 'engine'] as const;

type RowValues = Partial<Record<(typeof ROW_OPTIONS)[number], string | undefined>>;

/** Returns undefined when help is asked for. Throws `RangeError` for a value that cannot be measured. */
export function parseBenchOptions(args: readonly string[]): BenchOptions | undefined {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      world: text,
      projects: text,
      policy: text,
      seed: text,
      rpm: text,
      hours: text,
      engine: text,
      json: flag,
      record: flag,
      svg: text,
      help: { ...flag, short: 'h' },
    },
  });
  if (values.help) return undefined;
  const large = largeAccountOf(values);
  const isStandard = ROW_OPTIONS.every((name) => values[name] === undefined);
  if (values.record && !isStandard)
    throw new RangeError(`--record takes no option that changes the rows: ${ROW_OPTIONS.join(', ')}`);
  const rows = large !== undefined ? [] : isStandard ? standardRows() : askedRows(values);
  return { large, rows, isStandard, json: values.json, record: values.record, svg: values.svg };
}

function largeAccountOf(values: RowValues): LargeAccount | undefined {
  const projects = Number(values.projects);
  if (!(projects > WORLD_PROJECTS_MAX)) return undefined;
  const others = ROW_OPTIONS.filter((name) => name !== 'projects' && name !== 'rpm');
  const given = others.filter((name) => values[name] !== undefined);
  if (given.length > 0)
    throw new RangeError(`--projects ${projects} takes only --rpm beside it, not --${given.join(', --')}`);
  return {
    projects: numberOf('projects', String(projects), { min: 1, max: LARGE_PROJECTS_MAX }),
    requestsPerMinute: numberOf('rpm', values.rpm ?? '700', RATE_BOUNDS),
  };
}

function askedRows(values: RowValues): readonly Row[] {
  const { world = 'matched', projects = '50,500,5000', seed = '1', rpm = '700', hours = '4' } = values;
  const policies = values.policy === undefined ? usualPolicies() : values.policy.split(',').map(knownPolicy);
  const usual = {
    hours: numberOf('hours', hours, { min: 0.1, max: 720 }),
    engine: values.engine === undefined ? undefined : knownEngine(values.engine),
  };
  const sizes = listOf('projects', projects, { min: 1, max: WORLD_PROJECTS_MAX });
  const seeds = listOf('seed', seed, { min: 0, max: 2 ** 31 });
  const rates = listOf('rpm', rpm, RATE_BOUNDS);
  return worldsOf(world).flatMap((name) =>
    sizes.flatMap((count) =>
      seeds.flatMap((each) =>
        rates.flatMap((requestsPerMinute) =>
          policies.map((policy) => ({
            ...usual,
            world: name,
            policy,
            projects: count,
            seed: each,
            requestsPerMinute,
          })),
        ),
      ),
    ),
  );
}

function usualPolicies(): readonly string[] {
  return [...RIVALS, ...PLANNERS, ...HINTED_RIVALS].map(({ name }) => name);
}

function knownPolicy(policy: string): string {
  if (CONTENDERS.some(({ name }) => name === policy)) return policy;
  const names = CONTENDERS.map(({ name }) => name).join(', ');
  throw new RangeError(`--policy: "${policy}" is unknown; the policies are ${names}`);
}

function knownEngine(text: string): Row['engine'] {
  const engine = ENGINES.find((name) => name === text);
  if (engine !== undefined) return engine;
  throw new RangeError(`--engine: "${text}" is unknown; the engines are ${ENGINES.join(' and ')}`);
}

function worldsOf(text: string): readonly string[] {
  const names = text === 'all' ? WORLDS.map(({ name }) => name) : text.split(',');
  return names.map((name) => worldNamed(name).name);
}

function listOf(name: string, text: string, bounds: Bounds): readonly number[] {
  return text.split(',').map((each) => numberOf(name, each, bounds));
}

const RATE_BOUNDS: Bounds = { min: 10, max: 100_000 };

interface Bounds {
  readonly min: number;
  readonly max: number;
}

function numberOf(name: string, text: string, { min, max }: Bounds): number {
  const value = Number(text);
  if (value >= min && value <= max) return value;
  throw new RangeError(`--${name} takes numbers from ${min} to ${max}, not "${text}"`);
}
