/** Reads the options of `npm run crash-test` and draws the moments at which it kills. */

import { parseArgs } from 'node:util';
import { parseInteger, UsageError } from '../../infra/process/command.ts';
import { seededRandom } from '../../shared/runtime/random.ts';

export const CRASH_TEST_HELP = `npm run crash-test -- [options]   kills a local bridge repeatedly and compares what it delivered with the truth
  --minutes N   minutes during which the bridge is killed (default 10)
  --kills N     number of kills, at moments that the seed draws (default 15)
  --projects N  projects of the simulated service (default 60)
  --seed S      decides the world and the moments (default 1)
  --keep        keeps the data folder, whose path is printed first`;

export interface CrashTestOptions {
  readonly minutes: number;
  readonly kills: number;
  readonly projects: number;
  readonly seed: number;
  readonly keep: boolean;
}

/** Returns undefined when help was asked for. Throws `UsageError`, or what `parseArgs` throws. */
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

/**
 * Draws milliseconds after the start, in rising order. A moment can fall while the previous process is still
 * starting.
 */
export function killMoments({ minutes, kills, seed }: CrashTestOptions): readonly number[] {
  const dice = seededRandom(seed);
  const moments = Array.from({ length: kills }, () => Math.round(dice.next() * minutes * 60_000));
  return moments.toSorted((one, other) => one - other);
}
