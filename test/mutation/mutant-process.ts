/**
 * Puts mutants to their tests, one after the other, in one instance of vitest that keeps every module it has transformed. Its parent
 * starts it with the path of a list of mutants, sends the name of a mutant, and receives what the tests report of it.
 */

import { resolve } from 'node:path';
import { createVitest, type TestModule, type TestRunResult } from 'vitest/node';
import { mutantPlugin } from './mutant-plugin.ts';
import type { NamedMutant } from './named-mutant.ts';

const [list = ''] = process.argv.slice(2);
const { mutants } = (await import(resolve(list))) as { mutants: readonly NamedMutant[] };

let current: NamedMutant | undefined;

const vitest = await createVitest(
  'test',
  {
    config: false,
    watch: false,
    bail: 1,
    // A thread is enough for one file of tests, and starts sooner than a process.
    pool: 'threads',
    isolate: false,
    maxWorkers: 1,
    testTimeout: 30_000,
    reporters: [{}],
  },
  { plugins: [mutantPlugin(() => current)] },
);

/** Resolves to the errors of the tests. There are none when the tests do not notice the mutant. */
async function errorsOf(mutant: NamedMutant, isApplied: boolean): Promise<readonly string[]> {
  const [project] = vitest.projects;
  if (project === undefined) throw new Error('Vitest has no project');
  const testNamePattern = mutant.testName === undefined ? undefined : new RegExp(mutant.testName);
  const tests = project.createSpecification(resolve(mutant.tests), {
    ...(testNamePattern !== undefined && { testNamePattern }),
  });
  current = isApplied ? mutant : undefined;
  vitest.invalidateFile(resolve(mutant.file));
  const result = await vitest.runTestSpecifications([tests]);
  vitest.invalidateFile(resolve(mutant.file));
  return errorsIn(result, tests.testModule);
}

/** The result also has the files of earlier runs, so only `file` counts. */
function errorsIn({ unhandledErrors }: TestRunResult, file: TestModule | undefined): readonly string[] {
  const tests = [...(file?.children.allTests() ?? [])];
  if (!tests.some((each) => each.result().state !== 'skipped') && file?.errors().length === 0)
    return ['No test was run'];
  const errors = [
    ...(file?.errors() ?? []),
    ...tests.flatMap((each) => each.result().errors ?? []),
    ...unhandledErrors,
  ] as readonly Error[];
  return errors.flatMap(withCauses);
}

/** A property that fails names the assertion as the cause of its error. */
function withCauses({ name, message, cause }: Error): readonly string[] {
  return [`${name}: ${message}`, ...(cause === undefined ? [] : withCauses(cause as Error))];
}

async function answer({ name, isApplied }: { name: string; isApplied: boolean }): Promise<void> {
  const mutant = mutants.find((each) => each.name === name);
  const errors = mutant === undefined ? ['No mutant has this name'] : await errorsOf(mutant, isApplied);
  process.send?.(errors);
}

process.on('message', (question: { name: string; isApplied: boolean }) => void answer(question));

// A parent that ends has no more mutants.
process.on('disconnect', () => process.exit());
