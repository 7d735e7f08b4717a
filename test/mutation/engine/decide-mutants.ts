/**
 * Decides mutant after mutant in one process: the tests are loaded once, and each mutant is switched on while the tests that run its
 * code run again. Code that runs while a module is loaded is decided last, with every module loaded anew.
 */

import type { TestRunner } from 'vitest';
import { type Attempt, attempt, type Failure } from './attempt.ts';
import { baselineOf, type FileBaseline } from './baseline.ts';
import { append, crashesOf, readJournal, verdictsOf } from './journal.ts';
import type { Plan } from './plan.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

/** A mutant that ends the process twice is noticed: the process of a test would have ended, too. */
const CRASHES_MAX = 2;

/** This is StrykerJS's factor: code that runs a hundred times as often as usual never ends. */
const HIT_LIMIT_FACTOR = 100;

/** The process must end and begin anew: the tests are red without a mutant, so what it says about mutants is worth nothing. */
class SpoiledProcess extends Error {}

export async function decideMutants(runner: TestRunner, plan: Plan): Promise<void> {
  const { journalFile, mutantIds, testFiles } = plan;
  const entries = readJournal(journalFile);
  const verdicts = verdictsOf(entries);
  const crashes = crashesOf(entries);
  const doubted = new Set(entries.flatMap((entry) => (entry.step === 'doubted' ? [entry.id] : [])));
  const loading = new Set(entries.flatMap((entry) => (entry.step === 'loading' ? [entry.id] : [])));
  const files: FileBaseline[] = [];
  for (const testFile of testFiles) files.push(await baselineOf(runner, testFile));
  if (entries.length === 0)
    for (const test of files.flatMap(({ unrepeatable }) => unrepeatable))
      append(journalFile, { step: 'unrepeatable', test });

  const decisions = new Decisions(runner, plan, files, doubted);
  const open = mutantIds.filter((id) => !verdicts.has(id));
  for (const id of open.filter((each) => (crashes.get(each) ?? 0) >= CRASHES_MAX))
    decisions.decide(id, 'Timeout', 'the process ended');
  // A doubted mutant comes first in its process, where no other mutant has left anything behind.
  const inOrder = open
    .filter((id) => (crashes.get(id) ?? 0) < CRASHES_MAX)
    .toSorted((a, b) => Number(doubted.has(b)) - Number(doubted.has(a)));
  for (const id of inOrder.filter((each) => !loading.has(each))) {
    if (await decisions.decideWhileRunning(id)) loading.add(id);
  }
  for (const id of inOrder.filter((each) => loading.has(each))) await decisions.decideWhileLoading(id);
}

class Decisions {
  readonly #runner: TestRunner;
  readonly #journalFile: string;
  readonly #files: readonly FileBaseline[];
  readonly #doubted: ReadonlySet<string>;
  readonly #watchdog: Watchdog;

  constructor(
    runner: TestRunner,
    { journalFile }: Plan,
    files: readonly FileBaseline[],
    doubted: ReadonlySet<string>,
  ) {
    this.#runner = runner;
    this.#journalFile = journalFile;
    this.#files = files;
    this.#doubted = doubted;
    this.#watchdog = startWatchdog(journalFile);
  }

  /** Returns true when the mutant survived, and its code also runs while modules are loaded. */
  async decideWhileRunning(id: string): Promise<boolean> {
    const attempts = this.#attemptsWhileRunning(id);
    const isLoaded = this.#files.some(({ loadingHits }) => loadingHits[id] !== undefined);
    if (await this.#isNoticed(id, attempts)) return false;
    if (isLoaded) append(this.#journalFile, { step: 'loading', id });
    else if (attempts.length === 0) this.decide(id, 'NoCoverage', '');
    else this.decide(id, 'Survived', '');
    return isLoaded;
  }

  async decideWhileLoading(id: string): Promise<void> {
    const attempts = this.#files
      .filter(({ loadingHits }) => loadingHits[id] !== undefined)
      .toSorted((a, b) => a.durationMs - b.durationMs)
      .map((file) => ({
        testFile: file.testFile,
        testIds: file.unrepeatable.length === 0 ? undefined : file.tests.map((test) => test.id),
        isReloaded: true,
        mutant: { id, hitLimit: undefined },
        usualMs: file.durationMs,
      }));
    if (!(await this.#isNoticed(id, attempts))) this.decide(id, 'Survived', '');
  }

  /** Returns the tests that run the code of the mutant, a file at a time, those that take least time first. */
  #attemptsWhileRunning(id: string): readonly TimedAttempt[] {
    const covering = this.#files.map((file) => ({
      file,
      tests: file.tests.filter(({ hits }) => hits[id] !== undefined),
    }));
    const hitCount = covering
      .flatMap(({ tests }) => tests)
      .reduce((sum, { hits }) => sum + (hits[id] ?? 0), 0);
    return covering
      .filter(({ tests }) => tests.length > 0)
      .map(({ file, tests }) => ({
        testFile: file.testFile,
        testIds: tests.map((test) => test.id),
        isReloaded: file.needsReload,
        mutant: { id, hitLimit: HIT_LIMIT_FACTOR * hitCount },
        usualMs: tests.reduce((sum, { durationMs }) => sum + durationMs, 0),
      }))
      .toSorted((a, b) => a.usualMs - b.usualMs);
  }

  async #isNoticed(id: string, attempts: readonly TimedAttempt[]): Promise<boolean> {
    if (attempts.length > 0) append(this.#journalFile, { step: 'begun', id });
    for (const each of attempts) {
      const failure = await this.#failureOf(each);
      if (failure === undefined) continue;
      await this.#confirm(id, each, failure);
      this.decide(id, failure.isLate ? 'Timeout' : 'Killed', failure.why);
      return true;
    }
    return false;
  }

  /** An error that nothing catches may have begun in an earlier attempt, so it counts when it comes again. */
  async #failureOf(each: TimedAttempt): Promise<Failure | undefined> {
    const once = async () => {
      this.#watchdog.begin(each.mutant?.id ?? '-1', each.usualMs);
      const { failure } = await attempt(this.#runner, each);
      this.#watchdog.end();
      return failure;
    };
    const failure = await once();
    return failure?.isStray === true ? once() : failure;
  }

  /** A test that is still red without the mutant proves nothing. */
  async #confirm(id: string, each: TimedAttempt, { testId }: Failure): Promise<void> {
    const testIds = testId === undefined ? each.testIds : [testId];
    const { failure } = await attempt(this.#runner, { ...each, testIds, mutant: undefined });
    if (failure === undefined) return;
    // In a process that has tried nothing else, only this mutant can have left something behind.
    if (this.#doubted.has(id)) this.decide(id, 'Killed', 'the tests stay red after it');
    else append(this.#journalFile, { step: 'doubted', id });
    throw new SpoiledProcess(`Mutant ${id} left something behind: ${failure.why}`);
  }

  decide(id: string, verdict: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage', why: string): void {
    append(this.#journalFile, { step: 'decided', id, verdict, why });
  }
}

type TimedAttempt = Attempt & { readonly usualMs: number };
