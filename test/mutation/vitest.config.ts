import { defineConfig } from 'vitest/config';
import { TARGET_VARIABLE, TESTS_VARIABLE, targets } from './targets.ts';

const target = targets.find(({ name }) => name === process.env[TARGET_VARIABLE]);
if (target === undefined) throw new Error(`${TARGET_VARIABLE} names no target`);
const only = process.env[TESTS_VARIABLE];
const tests = only === undefined ? target.tests : [only];

/** Chooses the tests that the mutants of one target run; StrykerJS runs them in a copy of the project. */
export default defineConfig({
  test: {
    include: tests.filter((glob) => !glob.startsWith('!')),
    exclude: tests.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1)),
    // All files share one process: mutants run them hundreds of times, and none of these tests changes what others see.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
