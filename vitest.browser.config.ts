import { defineConfig } from 'vitest/config';

/** Apart from the others, because they need a Chromium: `npm run test:browser`. */
export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    testTimeout: 90_000,
    hookTimeout: 180_000,
    fileParallelism: false,
    // A busy machine may be slow once; what is broken is broken twice.
    retry: 1,
  },
});
