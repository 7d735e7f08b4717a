import { defineConfig } from 'vitest/config';

const settings = {
  testTimeout: 30_000,
  // Some hooks synthesize whole stacks or start servers; a busy machine takes its time.
  hookTimeout: 60_000,
  // Two cores are the least that anybody has; mutants run side by side on them.
  maxConcurrency: 2,
};

/** Of the service's own keys and limits nothing is to be seen from the other side of the bridge. */
const ownOfTheService = [
  'test/conformance/keys-and-limits.test.ts',
  'test/conformance/computes-model.test.ts',
];

export default defineConfig({
  test: {
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
