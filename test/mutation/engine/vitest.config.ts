import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { readPlan } from './plan.ts';

let code: Record<string, string> | undefined;

/** Whoever only reads this file, such as knip, has no plan. */
function codeOf(id: string): string | undefined {
  code ??= JSON.parse(readFileSync(readPlan().codeFile, 'utf8')) as Record<string, string>;
  return code[id];
}

/** Runs the engine in one process of vitest, which sees the mutated files with their switches. */
export default defineConfig({
  root: resolve(import.meta.dirname, '../../..'),
  plugins: [{ name: 'switches', enforce: 'pre', load: codeOf }],
  test: {
    include: ['test/mutation/engine/every-mutant.check.ts'],
    runner: './test/mutation/engine/mutation-runner.ts',
    // A test that sets TZ fails in a thread.
    pool: 'forks',
    maxWorkers: 1,
    isolate: false,
    // Tests of one file run one after the other, so that the code that runs belongs to one test.
    maxConcurrency: 1,
    // The cache knows files by their text on the disk, which has no switches.
    fsModuleCache: false,
    reporters: ['default'],
    // A mutant that collects for ever must end its process, not fill the memory of the machine.
    execArgv: ['--max-old-space-size=1024'],
    silent: true,
  },
});
