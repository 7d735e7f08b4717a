import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    // Two cores are the least that anybody has; mutants run side by side on them.
    maxConcurrency: 2,
  },
});
