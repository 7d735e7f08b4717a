/** Runs StrykerJS over some files and returns the outcome of each mutant. */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Stryker } from '@stryker-mutator/core';

type Options = NonNullable<ConstructorParameters<typeof Stryker>[0]>;

interface Place {
  readonly line: number;
  readonly column: number;
}

export interface MutantOutcome {
  /** The path begins at the root of the project. */
  readonly file: string;
  /** The first line has number 1. */
  readonly line: number;
  /** This is the whole line on which the mutant begins, without its indentation. */
  readonly lineText: string;
  readonly original: string;
  readonly replacement: string;
  /** The mutated code begins at this offset in the text of the file, in UTF-16 units. `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly isNoticed: boolean;
  /** The tests took longer than the limit, so the mutant counts as noticed: it runs for ever, or the machine was busy. */
  readonly isTimedOut: boolean;
  /** No test runs this code. */
  readonly isUncovered: boolean;
}

/** A busy machine must not make a test look endless; a mutant that really runs for ever costs this time once. */
const TIMEOUT_MS = 20_000;

export interface RunOptions {
  readonly concurrency: number;
  /**
   * The outcomes of the previous run are kept here, and unchanged code and tests repeat them. When it is undefined,
   * every mutant is run.
   */
  readonly incrementalFile: string | undefined;
}

export async function runStryker(
  files: readonly string[],
  { concurrency, incrementalFile }: RunOptions,
): Promise<readonly MutantOutcome[]> {
  const stryker = new Stryker({
    mutate: [...files],
    testRunner: 'vitest',
    vitest: { configFile: 'test/mutation/vitest.config.ts', related: true, pool: 'forks' },
    plugins: ['@stryker-mutator/vitest-runner'],
    coverageAnalysis: 'perTest',
    timeoutMS: TIMEOUT_MS,
    concurrency,
    ...(incrementalFile !== undefined && { incremental: true, incrementalFile }),
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
  return results.flatMap(({ fileName, location, replacement, status }) => {
    if (status === 'CompileError' || status === 'Ignored') return [];
    const file = relative(process.cwd(), fileName);
    const text = texts.get(file) ?? '';
    const [from, to] = [offsetOf(text, location.start), offsetOf(text, location.end)];
    return {
      file,
      line: location.start.line,
      lineText: (text.split('\n')[location.start.line - 1] ?? '').trim(),
      original: text.slice(from, to),
      replacement: replacement ?? '',
      from,
      to,
      isNoticed: status === 'Killed' || status === 'Timeout' || status === 'RuntimeError',
      isTimedOut: status === 'Timeout',
      isUncovered: status === 'NoCoverage',
    };
  });
}

function offsetOf(text: string, { line, column }: Place): number {
  let start = 0;
  for (let count = 1; count < line; count++) start = text.indexOf('\n', start) + 1;
  return start + column - 1;
}
