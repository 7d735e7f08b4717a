/** Which code is mutated, how much of it the tests must notice, and which tests are asked: every glob stands here. */

export interface Target {
  readonly name: string;
  /** The least share of mutants that the tests notice, in percent. */
  readonly bar: number;
  /** Every mutant that is left must carry its proof in equivalent.ts. */
  readonly isProofNeeded: boolean;
  readonly globs: readonly string[];
  /** The tests that are asked: those of the folder, without processes, ports and long clocks, since each mutant runs many. */
  readonly tests: readonly string[];
}

export const targets: readonly Target[] = [
  {
    name: 'core',
    bar: 94,
    isProofNeeded: true,
    globs: ['shared/core/**/*.ts'],
    tests: ['test/core/**/*.test.ts'],
  },
  {
    name: 'planner',
    bar: 94,
    isProofNeeded: true,
    globs: ['functions/poller/planner/**/*.ts'],
    tests: ['test/poller/planner/**/*.test.ts'],
  },
  {
    name: 'protocol',
    bar: 88,
    isProofNeeded: true,
    globs: ['shared/protocol/**/*.ts'],
    tests: ['test/protocol/**/*.test.ts'],
  },
  {
    name: 'poller',
    bar: 82,
    isProofNeeded: false,
    // The files beside the folders only put the adapters of AWS together: tests run them as processes, over HTTP.
    globs: ['functions/poller/{account,project}/**/*.ts'],
    // Not those that play whole days of an account: they take seconds, and each mutant that survives runs all of them.
    tests: [
      'test/poller/{account,project}/**/*.test.ts',
      'test/core/{decisions,records/page-walk}.test.ts',
      'test/poller/{end-when-quiet,lease,poll-account,restart,warm-accounts,watch-for-work}.test.ts',
    ],
  },
  {
    name: 'stores',
    bar: 82,
    isProofNeeded: false,
    globs: ['shared/commands/idempotency-store.ts', 'functions/api/bridge/event-feed.ts'],
    tests: ['test/**/{idempotency-store,event-feed}.test.ts'],
  },
];

/** Set while a target is run: StrykerJS reads the configuration of its tests in processes of its own. */
export const TARGET_VARIABLE = 'MUTATION_TARGET';
