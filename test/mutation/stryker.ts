/** Runs StrykerJS over some files and says what came of each mutant. */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';
import { type MutantOutcome, outcomeOf, type Verdict } from './mutant-outcome.ts';

type Options = NonNullable<ConstructorParameters<typeof Stryker>[0]>;

/** Holds the globs of the tests as JSON, because StrykerJS reads the configuration in processes of its own. */
export const TESTS_VARIABLE = 'MUTATION_TESTS';

/** A busy machine must not make a test look endless; a mutant that really runs for ever costs this time once. */
const TIMEOUT_MS = 20_000;

export async function runStryker(
  files: readonly string[],
  tests: readonly string[],
  concurrency: number,
): Promise<readonly MutantOutcome[]> {
  process.env[TESTS_VARIABLE] = JSON.stringify(tests);
  const stryker = new Stryker({
    mutate: [...files],
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutation/stryker.config.ts', related: true, pool: 'forks' },
    plugins: ['@stryker-mutator/vitest-runner'],
    coverageAnalysis: 'perTest',
    timeoutMS: TIMEOUT_MS,
    concurrency,
    // TypeScript 7 has no JavaScript API by which StrykerJS could read tsconfig.json, so it must not find that file.
    tsconfigFile: 'no-tsconfig.json',
    tempDirName: '.stryker-tmp',
    ignorePatterns: ['.bridge', 'cdk.out', 'docs', 'coverage', 'reports'],
    reporters: ['progress-append-only'],
    logLevel: 'error' as NonNullable<Options['logLevel']>,
    fileLogLevel: 'off' as NonNullable<Options['logLevel']>,
    allowConsoleColors: false,
  });
  // The texts are read before the run, because the files may change while the mutants run.
  const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const results = await stryker.runMutationTest();
  return results.flatMap((change) => {
    const { status } = change;
    if (status === 'CompileError' || status === 'Ignored' || status === 'Pending') return [];
    return outcomeOf(
      change,
      texts.get(relative(process.cwd(), change.fileName)) ?? '',
      status satisfies Verdict,
    );
  });
}
