import { defineConfig } from 'vitest/config';
import { TARGET_VARIABLE, targets } from './targets.ts';

const target = targets.find(({ name }) => name === process.env[TARGET_VARIABLE]);
if (target === undefined) throw new Error(`${TARGET_VARIABLE} names no target`);

/** The tests that mutants are put to; StrykerJS runs them in a copy of the project. */
export default defineConfig({
  test: {
    include: [...target.tests],
    // One process for all files: mutants run them hundreds of times, and none of these tests changes what others see.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
