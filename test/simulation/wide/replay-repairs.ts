/**
 * Takes every repair out again and runs the one seed that notices it, in a process of its own. The code as it is must keep the promise in
 * the same run.
 *
 *   npm run simulate -- repairs                 all of them, on all cores: about a minute
 *   npm run simulate -- repairs short-pages     one, or several
 *
 * The exit code is 1 when a seed no longer notices its change.
 */

import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { forEachConcurrently } from '../../../shared/runtime/concurrency.ts';
import { mutants, type Repair } from './repairs.ts';

const LIST = 'test/simulation/wide/repairs.ts';
const RUN = 'test/simulation/run.ts';
const CHANGE = ['--import', './test/simulation/apply-mutant.ts'];

/** The protocol's model does not allow a step of the run. */
const REJECTED = 'rejected';

/** The longest of these runs takes a few seconds. A change that makes a run endless is not noticed. */
const RUN_MS_MAX = 300_000;

process.exitCode = await main(process.argv.slice(2));

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !mutants.some((repair) => repair.name === name));
  if (unknown.length > 0) {
    console.error(`${LIST} has no change with the name ${unknown.join(', ')}.`);
    return 1;
  }
  const chosen = names.length === 0 ? mutants : mutants.filter(({ name }) => names.includes(name));
  let noticedCount = 0;
  await forEachConcurrently(chosen, availableParallelism(), async (repair) => {
    const problem = await problemOf(repair);
    if (problem === undefined) noticedCount += 1;
    const { name, noticedBy, rule } = repair;
    console.log(problem ?? `noticed: ${name}, seed ${noticedBy}, ${rule}`);
  });
  console.log(`${noticedCount} of ${chosen.length} changes are noticed at their seeds.`);
  return noticedCount === chosen.length ? 0 : 1;
}

/** Resolves to undefined when the seed notices the change and nothing else. */
async function problemOf(repair: Repair): Promise<string | undefined> {
  const { name, noticedBy, rule } = repair;
  const changed = await brokenRules(noticedBy, name);
  if (!changed.includes(rule)) {
    const instead = changed.length === 0 ? 'no rule' : changed.join(', ');
    return `NOT NOTICED: with ${name}, seed ${noticedBy} breaks ${instead} instead of ${rule}. Search another seed with
  MUTANTS=${LIST} MUTANT=${name} node ${CHANGE.join(' ')} ${RUN} --world wide --seeds 2000 --stop-at-first`;
  }
  const unchanged = await brokenRules(noticedBy);
  return unchanged.length === 0
    ? undefined
    : `PROVES NOTHING: ${name}: seed ${noticedBy} breaks ${unchanged.join(', ')} without the change, too.`;
}

/** Resolves to the rules that the run breaks. `change` is the name of a repair that is taken out. */
async function brokenRules(seed: number, change?: string): Promise<readonly string[]> {
  const preload = change === undefined ? [] : CHANGE;
  const env = { ...process.env, ...(change !== undefined && { MUTANTS: LIST, MUTANT: change }) };
  const output = await outputOf([...preload, RUN, '--world', 'wide', '--seed', String(seed)], env);
  const broken = [...output.matchAll(/^wide: ([\w-]+):/gm)].map(([, rule = '']) => rule);
  const isRejected = /^wide: step \d+ is rejected:/m.test(output);
  return [...new Set([...broken, ...(isRejected ? [REJECTED] : [])])];
}

/** A run that breaks a promise ends with exit code 1 and says so last. Rejects when the process ended before that. */
function outputOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((done, failed) => {
    const options = { env, timeout: RUN_MS_MAX, maxBuffer: 64_000_000 };
    execFile(process.execPath, [...args], options, (_error, stdout, stderr) => {
      if (/^The run (keeps|breaks) the promise\.$/m.test(stdout)) done(stdout);
      else failed(new Error(`node ${args.join(' ')} ended without a result:\n${stderr}`));
    });
  });
}
