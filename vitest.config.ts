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

/**
 * These tests compute, or serve inside their own process, and leave nothing behind that another file could see: mutation testing runs
 * most of them thousands of times in one process. A file that replaces a client of AWS by a mock does leave something behind, so test/store, test/runtime
 * and test/commands/queue are not among them. Sharing a process saves a quarter of a second of a processor for each file.
 */
const oneProcess = [
  'test/{callers,core,protocol,simulator,upstream}/**/*.test.ts',
  'test/poller/{account,planner,project,walk-plan}/**/*.test.ts',
  'test/commands/line/**/*.test.ts',
  // The first stack that a process synthesizes costs three seconds more than every other one.
  'test/aws/{alarms,bridge-subscription,config,edges,identities,quotas,self-tests,sign-in,stack,upstream-address}.test.ts',
];

export default defineConfig({
  test: {
    // Vitest leaves one core free by default. Many tests wait for servers of their own, so two files at once fit on two cores.
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...settings,
          name: 'bridge',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**', ...oneProcess],
        },
      },
      { test: { ...settings, name: 'bridge, in one process', include: oneProcess, isolate: false } },
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
