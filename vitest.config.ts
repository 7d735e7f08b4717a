import { defineConfig } from 'vitest/config';

const settings = {
  testTimeout: 30_000,
  // Some hooks synthesize whole stacks or start servers; a busy machine takes its time.
  hookTimeout: 60_000,
  // A machine has at least two cores, and mutants run side by side on them.
  maxConcurrency: 2,
};

/** The service's own keys and limits cannot be seen through the bridge. */
const ownOfTheService = [
  'test/conformance/keys-and-limits.test.ts',
  'test/conformance/computes-model.test.ts',
];

export default defineConfig({
  test: {
    // Vitest leaves one core free by default. Many tests wait for servers of their own, so two files at once fit on two cores.
    maxWorkers: 2,
    projects: [
      { test: { ...settings, name: 'bridge', include: ['test/**/*.test.ts'], exclude: ['test/browser/**'] } },
      {
        test: {
          ...settings,
          name: 'service through the bridge',
          include: ['test/conformance/*.test.ts', 'test/clients/*.test.ts'],
          exclude: ownOfTheService,
          env: { CONFORMANCE_DOOR: 'bridge' },
        },
      },
    ],
  },
});
