/** Runs the tests without a mutant, to learn which code each of them runs, how long it takes, and whether it can run again. */

import { relative } from 'node:path';
import type { TestRunner } from 'vitest';
import { type AttemptResult, attempt } from './attempt.ts';
import { type Hits, switches } from './switches.ts';

interface TestBaseline {
  readonly id: string;
  readonly durationMs: number;
  /** Counts how often the test runs the code of each mutant. */
  readonly hits: Hits;
}

export interface FileBaseline {
  readonly testFile: string;
  readonly tests: readonly TestBaseline[];
  /** Counts how often the code of each mutant runs while the file and what it imports are loaded. */
  readonly loadingHits: Hits;
  readonly durationMs: number;
  /** The tests are green a second time only when every module is loaded anew. */
  readonly needsReload: boolean;
  /** These tests are red a second time even then, so they cannot be asked. */
  readonly unrepeatable: readonly string[];
}

/** Throws when a test is red without a mutant. */
export async function baselineOf(runner: TestRunner, testFile: string): Promise<FileBaseline> {
  const beganMs = performance.now();
  const coverage = { static: {}, perTest: {} };
  switches.mutantCoverage = coverage;
  const whole = { testFile, testIds: undefined, mutant: undefined };
  const first = await attempt(runner, { ...whole, isReloaded: true });
  const durationMs = performance.now() - beganMs;
  if (first.failure !== undefined)
    throw new Error(`${relative(process.cwd(), testFile)} is red without a mutant: ${first.failure.why}`);
  const perTest: Readonly<Record<string, Hits>> = coverage.perTest;
  const loadingHits = { ...coverage.static };

  const second = await attempt(runner, { ...whole, isReloaded: false });
  const needsReload = second.failure !== undefined;
  const last = needsReload ? await attempt(runner, { ...whole, isReloaded: true }) : second;
  const red = new Set(redTestsOf(last).map(({ id }) => id));
  return {
    testFile,
    tests: first.tests
      .filter(({ id }) => !red.has(id))
      .map(({ id, durationMs: testMs }) => ({ id, durationMs: testMs, hits: perTest[id] ?? {} })),
    loadingHits,
    durationMs,
    needsReload,
    unrepeatable: redTestsOf(last).map(({ name }) => name),
  };
}

function redTestsOf({ tests }: AttemptResult) {
  return tests.filter(({ error }) => error !== undefined);
}
