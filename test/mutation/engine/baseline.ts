/** Runs the tests without a mutant, to learn which code each of them runs, how long it takes, and whether it can run again. */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestRunner } from 'vitest';
import { type AttemptResult, attempt } from './attempt.ts';
import type { Plan } from './plan.ts';
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

/**
 * The first process of a plan learns what its tests do. The processes after it, which begin because a mutant has ended the one before,
 * read what the first one has learned. Throws when a test is red without a mutant.
 */
export async function baselinesOf(
  runner: TestRunner,
  { testFiles, baselineFile }: Plan,
): Promise<readonly FileBaseline[]> {
  if (existsSync(baselineFile)) {
    // Code that runs at loading time must run without a mutant, because all later mutants run with what it leaves.
    for (const testFile of testFiles) await load(runner, testFile);
    return JSON.parse(readFileSync(baselineFile, 'utf8')) as readonly FileBaseline[];
  }
  const files: FileBaseline[] = [];
  for (const testFile of testFiles) files.push(await baselineOf(runner, testFile));
  // A process may end while it writes, and half a file would end all later ones.
  writeFileSync(`${baselineFile}.part`, JSON.stringify(files));
  renameSync(`${baselineFile}.part`, baselineFile);
  return files;
}

async function load(runner: TestRunner, testFile: string): Promise<void> {
  await attempt(runner, { testFile, testIds: [], isReloaded: false, mutant: undefined });
}

async function baselineOf(runner: TestRunner, testFile: string): Promise<FileBaseline> {
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
