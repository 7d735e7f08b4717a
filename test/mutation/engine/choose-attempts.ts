/** Chooses which tests are asked about a mutant, a file at a time, those that take least time first. */

import type { Attempt } from './attempt.ts';
import type { FileBaseline } from './baseline.ts';

export interface ChosenAttempt extends Attempt {
  /** The tests take this time without the mutant. */
  readonly usualMs: number;
}

/** This is StrykerJS's factor: code that runs a hundred times as often as usual never ends. */
const HIT_LIMIT_FACTOR = 100;

/** A mutant that makes a test wait for ever costs this time. */
const TEST_TIMEOUT_MS = 8_000;

/** A mutant may make a test this much slower, and the machine may be busier than it was without the mutant. */
const SLOWER_FACTOR = 20;

/** Returns the tests that run the code of the mutant. */
export function attemptsWhileRunning(files: readonly FileBaseline[], id: string): readonly ChosenAttempt[] {
  const covering = files.map((file) => ({
    file,
    tests: file.tests.filter(({ hits }) => hits[id] !== undefined),
  }));
  const hitCount = covering.flatMap(({ tests }) => tests).reduce((sum, { hits }) => sum + (hits[id] ?? 0), 0);
  return covering
    .filter(({ tests }) => tests.length > 0)
    .map(({ file, tests }) => ({
      testFile: file.testFile,
      testIds: tests.map((test) => test.id),
      isReloaded: file.needsReload,
      mutant: { id, hitLimit: HIT_LIMIT_FACTOR * hitCount, testTimeoutMs: timeoutOf(tests) },
      usualMs: tests.reduce(
        (sum, { durationMs }) => sum + durationMs,
        file.needsReload ? file.durationMs : 0,
      ),
    }))
    .toSorted(byTime);
}

/** Returns all tests of the files that run the code of the mutant while they are loaded, since any test may depend on it. */
export function attemptsWhileLoading(files: readonly FileBaseline[], id: string): readonly ChosenAttempt[] {
  return files
    .filter(({ loadingHits, tests }) => loadingHits[id] !== undefined && tests.length > 0)
    .map(({ testFile, tests, durationMs }) => ({
      testFile,
      testIds: tests.map((test) => test.id),
      isReloaded: true,
      mutant: { id, hitLimit: undefined, testTimeoutMs: timeoutOf(tests) },
      usualMs: durationMs,
    }))
    .toSorted(byTime);
}

function timeoutOf(tests: FileBaseline['tests']): number {
  return Math.max(TEST_TIMEOUT_MS, ...tests.map(({ durationMs }) => SLOWER_FACTOR * durationMs));
}

function byTime(a: ChosenAttempt, b: ChosenAttempt): number {
  return a.usualMs - b.usualMs;
}
