/** Runs some tests of one file with vitest's own functions, in this process, while a mutant is switched on or none is. */

import { relative } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { type RunnerTask, type RunnerTestCase, TestRunner, vi } from 'vitest';
import { startTests } from 'vitest/internal/browser';
import { switches, switchOff, switchOn } from './switches.ts';

export interface Attempt {
  /** This is the absolute path of the tests. */
  readonly testFile: string;
  /** All tests of the file run when it is undefined. */
  readonly testIds: readonly string[] | undefined;
  /** Every module is loaded anew, so that code which runs at loading time runs with the mutant. */
  readonly isReloaded: boolean;
  readonly mutant: SwitchedMutant | undefined;
}

interface SwitchedMutant {
  readonly id: string;
  readonly hitLimit: number | undefined;
  /** Each test that names no limit of its own may take this long. */
  readonly testTimeoutMs: number;
}

/** Without a mutant every test ends, however busy the machine is. */
const UNCHANGED_TIMEOUT_MS = 120_000;

export interface Failure {
  /** It is undefined when the file failed to load, or an error came from outside of every test. */
  readonly testId: string | undefined;
  readonly why: string;
  /** A test took too long, or the mutant ran too often. */
  readonly isLate: boolean;
  /** Nothing caught the error, so it may have begun in an earlier attempt. */
  readonly isStray: boolean;
}

interface RanTest {
  readonly id: string;
  readonly name: string;
  readonly durationMs: number;
  readonly error: string | undefined;
}

export interface AttemptResult {
  readonly tests: readonly RanTest[];
  readonly failure: Failure | undefined;
}

const strays: string[] = [];

/** Vitest would end the whole run at an error that nothing catches; here it is a sign that a mutant was noticed. */
export function takeStrayErrors(): void {
  for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
    process.removeAllListeners(event);
    process.on(event, (error: unknown) => strays.push(String(error)));
  }
}

export async function attempt(outer: TestRunner, { testFile, testIds, isReloaded, mutant }: Attempt) {
  const runner = new AttemptRunner(outer, mutant);
  if (isReloaded) vi.resetModules();
  strays.length = 0;
  if (mutant !== undefined) switchOn(mutant.id, mutant.hitLimit);
  const spec = { filepath: testFile, fileTags: [], ...(testIds && { testIds: [...testIds] }) };
  const [file] = await startTests([spec], runner);
  await setImmediate();
  const isEndless = switchOff();
  vi.restoreAllMocks();
  if (file === undefined) throw new Error(`vitest did not run ${testFile}`);
  return { tests: runner.ran, failure: failureOf(file, isEndless) } satisfies AttemptResult;
}

function failureOf(file: RunnerTask, isEndless: boolean): Failure | undefined {
  const failed = failedTask(file);
  const why = failed?.result?.errors?.[0]?.message ?? strays[0];
  if (why === undefined && !isEndless && file.result?.state !== 'fail') return undefined;
  return {
    testId: failed?.type === 'test' ? failed.id : undefined,
    why: (why ?? 'The file of tests failed').slice(0, 200),
    isLate: isEndless || /timed out in \d+ms|Hit count limit reached/.test(why ?? ''),
    isStray: failed === undefined && file.result?.state !== 'fail',
  };
}

function failedTask(task: RunnerTask): RunnerTask | undefined {
  const inside = task.type === 'suite' ? task.tasks.map(failedTask).find((each) => each) : undefined;
  return inside ?? (task.result?.errors === undefined ? undefined : task);
}

/** Reports to nobody but its caller, and stops at the first test that fails while a mutant is switched on. */
class AttemptRunner extends TestRunner {
  readonly ran: RanTest[] = [];
  readonly #outer: TestRunner;
  readonly #stopsAtFailure: boolean;

  constructor(outer: TestRunner, mutant: SwitchedMutant | undefined) {
    const timeoutMs = mutant?.testTimeoutMs ?? UNCHANGED_TIMEOUT_MS;
    super({ ...outer.config, testTimeout: timeoutMs, hookTimeout: timeoutMs });
    this.#outer = outer;
    this.#stopsAtFailure = mutant !== undefined;
  }

  override trace = <T>(_name: string, attributes: Record<string, unknown> | (() => T), work?: () => T): T =>
    (work ?? (attributes as () => T))();

  override importFile(path: string, source: Parameters<TestRunner['importFile']>[1]): unknown {
    return this.#outer.importFile(path, source);
  }

  override onBeforeTryTask(test: RunnerTestCase, options: Parameters<TestRunner['onBeforeTryTask']>[1]) {
    super.onBeforeTryTask(test, options);
    switches.currentTestId = test.id;
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    super.onAfterRunTask(test);
    switches.currentTestId = undefined;
    const { state, duration = 0, errors } = test.result ?? {};
    const name = `${relative(process.cwd(), test.file.filepath)}: ${test.fullTestName}`;
    this.ran.push({ id: test.id, name, durationMs: duration, error: errors?.[0]?.message });
    if (state === 'fail' && this.#stopsAtFailure) this.cancel('test-failure');
  }
}
