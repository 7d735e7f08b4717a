/** Puts one mutant after the other to the tests, and writes each verdict into the journal at once. */

import type { TestRunner } from 'vitest';
import { attempt, type Failure } from './attempt.ts';
import type { FileBaseline } from './baseline.ts';
import { attemptsWhileLoading, attemptsWhileRunning, type ChosenAttempt } from './choose-attempts.ts';
import { append } from './journal.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

export interface MutantProcessOptions {
  readonly runner: TestRunner;
  readonly files: readonly FileBaseline[];
  readonly journalFile: string;
  readonly patienceMs: number;
  /** The ids of the mutants that spoiled a process before. */
  readonly doubted: ReadonlySet<string>;
}

export class MutantProcess {
  readonly #options: MutantProcessOptions;
  readonly #watchdog: Watchdog;

  constructor(options: MutantProcessOptions) {
    this.#options = options;
    this.#watchdog = startWatchdog(options);
  }

  /** Resolves to true when no test noticed the mutant, and its code also runs while modules are loaded. */
  async decideWhileRunning(id: string): Promise<boolean> {
    const { files, journalFile } = this.#options;
    const attempts = attemptsWhileRunning(files, id);
    if (await this.#isNoticed(id, attempts)) return false;
    const isLoaded = attemptsWhileLoading(files, id).length > 0;
    if (isLoaded) append(journalFile, { step: 'loading', id });
    else this.decide(id, attempts.length === 0 ? 'NoCoverage' : 'Survived', '');
    return isLoaded;
  }

  async decideWhileLoading(id: string): Promise<void> {
    const attempts = attemptsWhileLoading(this.#options.files, id);
    if (!(await this.#isNoticed(id, attempts))) this.decide(id, 'Survived', '');
  }

  decide(id: string, verdict: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage', why: string): void {
    append(this.#options.journalFile, { step: 'decided', id, verdict, why });
  }

  async #isNoticed(id: string, attempts: readonly ChosenAttempt[]): Promise<boolean> {
    if (attempts.length > 0) append(this.#options.journalFile, { step: 'begun', id });
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
  async #failureOf(chosen: ChosenAttempt): Promise<Failure | undefined> {
    const failure = await this.#watched(chosen);
    return failure?.isStray === true ? this.#watched(chosen) : failure;
  }

  async #watched(chosen: ChosenAttempt): Promise<Failure | undefined> {
    if (chosen.mutant !== undefined) this.#watchdog.begin(chosen.mutant.id, chosen.usualMs);
    const { failure } = await attempt(this.#options.runner, chosen);
    this.#watchdog.end();
    return failure;
  }

  /**
   * Throws when the test is still red without the mutant: it or an earlier mutant has left something behind, so this
   * process must end. The mutant is put to the tests again, as the first one of the next process.
   */
  async #confirm(id: string, chosen: ChosenAttempt, { testId }: Failure): Promise<void> {
    const testIds = testId === undefined ? chosen.testIds : [testId];
    const { failure } = await attempt(this.#options.runner, { ...chosen, testIds, mutant: undefined });
    if (failure === undefined) return;
    if (this.#options.doubted.has(id)) this.decide(id, 'Killed', 'the tests stay red after it');
    else append(this.#options.journalFile, { step: 'doubted', id });
    throw new Error(`A mutant left something behind: ${failure.why}`);
  }
}
