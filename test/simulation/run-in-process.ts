/** Runs the simulation in a process of its own, for tests that look at many seeds. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const RUN = 'test/simulation/run.ts';
const COMPILE_CACHE = 'node_modules/.cache/simulation';
const execute = promisify(execFile);

/** Runs seeds as a person does by hand, in a process of its own, on Node alone. `mutant` is put into the code before. */
export async function runInProcess(args: readonly string[], mutant?: string) {
  const preload = mutant === undefined ? [] : ['--import', './test/simulation/apply-mutant.ts'];
  const env = {
    ...process.env,
    // Without compiled modules, the start of each of these processes takes as long as a dozen runs.
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...(mutant !== undefined && { MUTANT: mutant }),
  };
  const options = { env, maxBuffer: 64_000_000 };
  const failed = (error: { stdout: string; stderr: string }) => {
    if (error.stdout === '') throw new Error(error.stderr);
    return error;
  };
  const { stdout } = await execute(process.execPath, [...preload, RUN, '--json', ...args], options).catch(
    failed,
  );
  return JSON.parse(stdout) as {
    seedCount: number;
    failures: { seed: number }[];
    rejected: { seed: number }[];
    silent: string[];
  };
}
