/** The options of `npm run crash-test`, and the moments at which it kills. */

import { parseArgs } from 'node:util';
import { parseInteger, UsageError } from '../../infra/process/option-values.ts';
import { seededRandom } from '../../shared/runtime/random.ts';

export const CRASH_TEST_HELP = `npm run crash-test -- [options]   kills a local bridge again and again and compares what it delivered with the truth
  --minutes N   how long the bridge is killed (default 10)
  --kills N     how often, at moments that the seed draws (default 15)
  --projects N  projects of the simulated service (default 60)
  --seed S      decides the world and the moments (default 1)
  --keep        leaves the data folder behind, and says where it is`;

export interface CrashTestOptions {
  readonly minutes: number;
  readonly kills: number;
  readonly projects: number;
  readonly seed: number;
  readonly keep: boolean;
}

/** Undefined: help was asked for. */
export function parseCrashTestOptions(args: readonly string[]): CrashTestOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      kills: { type: 'string', default: '15' },
      projects: { type: 'string', default: '60' },
      seed: { type: 'string', default: '1' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const minutes = Number(values.minutes);
  if (!(minutes > 0 && minutes <= 600))
    throw new UsageError(`--minutes is "${values.minutes}"; it takes a number up to 600.`);
  return {
    minutes,
    kills: parseInteger('kills', values.kills, { min: 0, max: 10_000 }),
    projects: parseInteger('projects', values.projects, { min: 1, max: 5_000 }),
    seed: parseInteger('seed', values.seed, { min: 0, max: 2 ** 31 }),
    keep: values.keep,
  };
}

/** Milliseconds after the start, in order: anywhere, also while the process before has only just started. */
export function killMoments({ minutes, kills, seed }: CrashTestOptions): readonly number[] {
  const dice = seededRandom(seed);
  const moments = Array.from({ length: kills }, () => Math.round(dice.next() * minutes * 60_000));
  return moments.toSorted((one, other) => one - other);
}
