/** Runs the simulation with a mutant in the production code, and says whether a seed notices it. */

import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Mutant } from '../simulation/mutants.ts';
import type { MutantOutcome } from './mutant-outcome.ts';

const LIST = 'reports/mutation/survivors.mjs';

/** A seed that takes longer has noticed the mutant: it runs for ever. */
const TIME_PER_SEED_MS = 30_000;

/** Says whether one of the first seeds of the close or the wide world breaks a promise, or the simulation itself breaks. */
export async function isNoticedBySeeds(outcome: MutantOutcome, seedCount: number): Promise<boolean> {
  mkdirSync('reports/mutation', { recursive: true });
  const mutant = asText(outcome, readFileSync(outcome.file, 'utf8'));
  writeFileSync(LIST, `export const mutants = ${JSON.stringify([mutant])};\n`);
  const settings = `--seeds ${seedCount} --world both --jobs 1 --stop-at-first --json`;
  const preload = ['--import', './test/simulation/apply-mutant.ts'];
  const args = [...preload, 'test/simulation/run.ts', ...settings.split(' ')];
  const env = { ...process.env, MUTANT: mutant.name, MUTANTS: LIST };
  const timeout = TIME_PER_SEED_MS * seedCount;
  return promisify(execFile)(process.execPath, args, { env, timeout, maxBuffer: 64_000_000 }).then(
    () => false,
    (error: { stderr?: string }) => {
      if (error.stderr?.includes('places of')) throw new Error(error.stderr);
      return true;
    },
  );
}

/** Returns the mutant as a change of text, with enough text around it to occur once in the file. */
function asText({ file, line, from, to, replacement }: MutantOutcome, text: string): Mutant {
  let [start, end] = [from, to];
  while (text.split(text.slice(start, end)).length > 2) {
    start = Math.max(0, start - 10);
    end = Math.min(text.length, end + 10);
  }
  return {
    name: `${file}:${line}`,
    mistake: 'found by StrykerJS',
    file,
    find: text.slice(start, end),
    replace: text.slice(start, from) + replacement + text.slice(to, end),
  };
}
