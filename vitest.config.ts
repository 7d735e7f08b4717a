import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** These limits end what hangs. Some tests and hooks synthesize whole stacks or start servers, and a busy machine takes its time. */
const limits = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // A machine has at least two cores, and mutants run side by side on them.
  maxConcurrency: 2,
};

/** The slow tests hold a core for themselves, or wait in real time, so no more of them run than there are cores. */
const slow = { ...limits, maxWorkers: availableParallelism(), sequence: { groupOrder: 1 } };

/** `test/conformance/service-under-test.ts` reads it: the service is asked through the bridge. */
const throughTheBridge = { CONFORMANCE_DOOR: 'bridge' };

/**
 * A file's name says how it runs, and its project says when: `npm test` runs what is quick, `npm run test:slow` and
 * `npm run test:browser` the others.
 *
 * - `*.test.ts` computes, or serves inside its own process, and leaves nothing behind that another file could see.
 * - `*.alone.test.ts` replaces a client of AWS by a mock, changes the environment, or measures its process.
 *   `test/architecture.test.ts` finds a file that lacks the suffix.
 * - `*.slow.test.ts` takes minutes: it builds, packs, installs or synthesizes what is released, tests the tests, ends the process at
 *   every step of a scenario, simulates the wide world or many instances, searches every pattern in the texts that cost it most, starts
 *   a whole bridge in a process of its own, or lets a program that is not ours work with the service.
 * - `*.browser.test.ts` needs a Chromium.
 */
export default defineConfig({
  test: {
    // Vitest leaves one core free by default. Many tests wait for servers of their own, so one file more than there are cores keeps all of
    // them at work: with two files on two cores, a seventh of the processor's time was not used.
    maxWorkers: availableParallelism() + 1,
    globalSetup: 'test/temporary-folder.ts',
    projects: [
      {
        test: {
          ...limits,
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.{alone,slow,browser}.test.ts'],
          // Sharing a process saves a quarter to half a second of a processor for each file, and three seconds for each stack but the first.
          isolate: false,
        },
      },
      { test: { ...limits, name: 'quick, alone', include: ['test/**/*.alone.test.ts'] } },
      {
        test: {
          ...limits,
          name: 'quick, through the bridge',
          include: ['test/{conformance,clients}/*.test.ts'],
          exclude: ['test/clients/*.slow.test.ts'],
          env: throughTheBridge,
        },
      },
      { test: { ...slow, name: 'slow', include: ['test/**/*.slow.test.ts'], exclude: ['test/clients/*'] } },
      {
        test: {
          ...slow,
          name: 'slow, through the bridge',
          include: ['test/clients/*.slow.test.ts'],
          env: throughTheBridge,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/**/*.browser.test.ts'],
          testTimeout: 90_000,
          hookTimeout: 180_000,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          // A busy machine may be slow once; what is broken is broken twice.
          retry: 1,
        },
      },
    ],
  },
});
