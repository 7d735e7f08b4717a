import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export const settings = {
  // These limits end what hangs. Some tests and hooks synthesize whole stacks or start servers, and a busy machine takes its time.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // A machine has at least two cores, and mutants run side by side on them.
  maxConcurrency: 2,
};

/** Each of these tests starts a whole bridge in a process of its own, or lets a program that is not ours work with the service, and waits in real time. */
const wholeBridge = [
  'test/aws/bundles.test.ts',
  'test/bench/bench.test.ts',
  'test/cli/{accounts,accounts-after-restart,accounts-on-a-bridge,local-subscription,on-a-bridge,replay,run-and-wait,verify}.test.ts',
  'test/crash/**/*.test.ts',
  'test/end-to-end/*.test.ts',
  'test/local/{damaged-tables,local-bridge,restart,start}.test.ts',
  'test/notifier/{alert-simulation,sending/no-alert-is-lost}.test.ts',
  'test/subscription/on-local-aws.test.ts',
];

/** The clients run against the service, and against the bridge in its place. */
export const clients = ['test/clients/*.test.ts'];

/**
 * `npm run test:slow` runs these tests, and `npm test` does not. The first build, pack, install or synthesize what is released. The next
 * are tests of tests.
 */
export const slow = [
  'test/doors/template/configurations.test.ts',
  'test/packages/{bridge,events}-package.test.ts',
  'test/release/release.test.ts',
  'test/mutation/*.test.ts',
  'test/model/search.test.ts',
  'test/simulation/{mistakes,pinned,service-truth}.test.ts',
  'test/notifier/mutants.test.ts',
  ...wholeBridge,
  ...clients,
];

/** The service's own keys and limits cannot be seen through the bridge. */
const ownOfTheService = [
  'test/conformance/keys-and-limits.test.ts',
  'test/conformance/computes-model.test.ts',
];

/**
 * These files leave something behind that another file could see: they replace a client of AWS by a mock, or change the environment of
 * the process. `test/architecture.test.ts` finds one that is missing here.
 */
export const ownProcess = [
  'test/commands/queue/sqs-wakes.test.ts',
  'test/local/aws/local-aws.test.ts',
  'test/notifier/channels/sns-publisher.test.ts',
  'test/store/dynamodb-table.test.ts',
];

/**
 * These tests compute, or serve inside their own process, and leave nothing behind that another file could see: mutation testing runs
 * many of them thousands of times in one process. Sharing a process saves a quarter to half a second of a processor for each file.
 */
export const oneProcess = [
  'test/{accounts,api,callers,commands,console,core,insights,lanes,local,notifier,nudges,poller,protocol,self-test,runtime,simulator,store,upstream}/**/*.test.ts',
  // The first stack that a process synthesizes costs three seconds more than every other one.
  'test/aws/{alarms,bridge-subscription,config,edges,identities,quotas,self-tests,sign-in,slack-buttons,stack,upstream-address}.test.ts',
  'test/doors/template/deployed-numbers.test.ts',
];

export default defineConfig({
  test: {
    // Vitest leaves one core free by default. Many tests wait for servers of their own, so one file more than there are cores keeps all of
    // them at work: with two files on two cores, a seventh of the processor's time was not used.
    maxWorkers: availableParallelism() + 1,
    globalSetup: 'test/temporary-folder.ts',
    projects: [
      {
        test: {
          ...settings,
          name: 'bridge',
          include: ['test/**/*.test.ts'],
          exclude: ['test/browser/**', ...slow, ...oneProcess],
        },
      },
      { test: { ...settings, name: 'bridge, in processes of their own', include: ownProcess } },
      {
        test: {
          ...settings,
          name: 'bridge, in one process',
          include: oneProcess,
          exclude: [...ownProcess, ...slow],
          isolate: false,
        },
      },
      {
        test: {
          ...settings,
          name: 'service through the bridge',
          include: ['test/conformance/*.test.ts'],
          exclude: ownOfTheService,
          env: { CONFORMANCE_DOOR: 'bridge' },
        },
      },
    ],
  },
});
