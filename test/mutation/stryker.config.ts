import { defineConfig } from 'vitest/config';
import { TESTS_VARIABLE } from './stryker.ts';

const tests: readonly string[] = JSON.parse(process.env[TESTS_VARIABLE] ?? '[]');

/** Chooses the tests that StrykerJS runs in its copy of the project. */
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
