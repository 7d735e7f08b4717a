/** Defines which code is mutated, which share of its mutants the tests must notice, and which tests are run. */

export interface Target {
  readonly name: string;
  /** The tests must notice at least this share of the mutants, in percent. */
  readonly bar: number;
  /** Every mutant that is left must carry its proof in equivalent.ts. */
  readonly isProofNeeded: boolean;
  readonly globs: readonly string[];
  /**
   * Each mutant runs these tests: those of the folder, without processes, ports and days of virtual time, because
   * each mutant runs many. A glob that begins with `!` leaves tests out.
   */
  readonly tests: readonly string[];
}

export const targets: readonly Target[] = [
  {
    name: 'core',
    bar: 94,
    isProofNeeded: true,
    globs: ['shared/records/**/*.ts'],
    // What derives from operations is decided with the table in between, so its tests are those of the protocol, too.
    tests: ['test/records/**/*.test.ts', 'test/protocol/record-derived*.test.ts'],
  },
  {
    name: 'planner',
    bar: 94,
    isProofNeeded: true,
    globs: ['functions/poller/planner/**/*.ts'],
    tests: [
      'test/poller/planner/**/*.test.ts',
      'test/records/decisions.test.ts',
      '!test/poller/planner/{no-project-waits-too-long,wishes}.test.ts',
    ],
  },
  {
    name: 'protocol',
    bar: 88,
    isProofNeeded: true,
    globs: ['shared/protocol/**/*.ts'],
    tests: ['test/protocol/**/*.test.ts'],
  },
  // The files beside the folders of the poller only connect the adapters of AWS, and tests run them as processes, over HTTP.
  // Each part of it has tests of its own, because a mutant that survives runs all tests of its target.
  {
    name: 'account',
    bar: 82,
    isProofNeeded: false,
    globs: ['functions/poller/account/**/*.ts'],
    // The tests that play whole days of an account are left out, because they take seconds.
    tests: [
      'test/poller/account/**/*.test.ts',
      'test/records/decisions.test.ts',
      'test/poller/{end-when-quiet,lease,restart,watch-for-work}.test.ts',
    ],
  },
  {
    name: 'project',
    bar: 82,
    isProofNeeded: false,
    globs: ['functions/poller/project/**/*.ts'],
    tests: ['test/poller/project/**/*.test.ts', 'test/doors/poller/scenarios/scenarios.test.ts'],
  },
  {
    name: 'lane',
    bar: 82,
    isProofNeeded: false,
    globs: ['functions/poller/{lane,nudges}/**/*.ts', 'shared/accounts/**/*.ts'],
    tests: [
      'test/poller/lane/**/*.test.ts',
      'test/poller/nudge-bell.test.ts',
      'test/{accounts,nudges}/**/*.test.ts',
    ],
  },
  {
    name: 'replay',
    bar: 82,
    isProofNeeded: false,
    globs: ['functions/poller/replay/**/*.ts'],
    tests: ['test/poller/replay/**/*.test.ts'],
  },
  {
    name: 'stores',
    bar: 82,
    isProofNeeded: false,
    globs: ['shared/commands/idempotency-store.ts', 'functions/api/read-model/event-feed.ts'],
    tests: ['test/**/{idempotency-store,event-feed}.test.ts'],
  },
  {
    name: 'commands',
    bar: 82,
    isProofNeeded: false,
    globs: ['functions/commands/{intake,line}/**/*.ts', 'functions/commands/work.ts', 'shared/commands/*.ts'],
    // The tests that play many commands of many projects on virtual time take seconds.
    tests: ['test/commands/{line,queue}/**/*.test.ts', '!test/commands/line/line.test.ts'],
  },
];
