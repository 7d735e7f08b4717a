/** Asks one long-lived process what the tests report of each mutant of a list: a start of vitest for each of them takes twice as long. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export interface MutantRuns {
  /**
   * Resolves to the errors of the tests that must notice the mutant, as "AssertionError: …"; there are none when they do not notice it.
   * One call must have ended before the next one begins.
   */
  errorsWith(name: string): Promise<readonly string[]>;
  /** Resolves to the errors of the same tests on the code as it is. */
  errorsWithout(name: string): Promise<readonly string[]>;
  end(): Promise<void>;
}

interface Running {
  readonly child: ChildProcess;
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>;
}

/** A mutant may run for ever. Its process is killed after this time, and the next mutant gets a new one. */
const PATIENCE_MS = 100_000;

/** `list` is the path of a module that exports `mutants`, from the root of the project. */
export function createMutantRuns(list: string): MutantRuns {
  let running: Running | undefined;

  function start(): Running {
    const env = { ...process.env, VITEST: undefined, NO_COLOR: '1' };
    const child = fork(new URL('./mutant-process.ts', import.meta.url), [list], { env, execArgv: [] });
    return { child, ended: once(child, 'exit') };
  }

  async function ask(name: string, isApplied: boolean): Promise<readonly string[]> {
    running ??= start();
    const { child, ended } = running;
    const tooLate = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
    const answered = once(child, 'message') as Promise<[readonly string[]]>;
    child.send({ name, isApplied });
    const answer = await Promise.race([answered, ended.then(() => undefined)]);
    clearTimeout(tooLate);
    if (answer !== undefined) return answer[0];
    running = undefined;
    throw new Error(`The process of mutant "${name}" ended without an answer`);
  }

  return {
    errorsWith: (name) => ask(name, true),
    errorsWithout: (name) => ask(name, false),
    async end() {
      if (running?.child.connected === true) running.child.disconnect();
      await running?.ended;
    },
  };
}
