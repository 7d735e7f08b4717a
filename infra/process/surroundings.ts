/**
 * Names what a subcommand needs of the process that runs it, so that tests can give it something else; ends what has
 * taken as long as it may, and makes a clock that runs faster than real time.
 */

import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { stoppedBy } from '../../shared/runtime/concurrency.ts';
import type { ExitCode } from './command.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  readonly environment: Environment;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Writes a line of the result, to the standard output. */
  readonly print: (line: string) => void;
  /** Writes a line on the progress, to the error output, so that the result can be piped. */
  readonly note: (line: string) => void;
  /** Colours are only for terminals. */
  readonly isColoured: boolean;
  readonly readInput: () => Promise<string>;
  /** Asks a person, and resolves to whether the answer is yes. It is absent where no person is at a terminal. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
  /** Asks a person for a line of text. It is absent where no person is at a terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** The process ends with this code once the subcommand has ended. */
  readonly exitWith: (code: ExitCode) => void;
}

export function processSurroundings(signal: AbortSignal, exitWith: (code: ExitCode) => void): Surroundings {
  const { env, stdout, stdin } = process;
  return {
    environment: env,
    signal,
    clock: systemClock,
    print: (line) => console.log(line),
    note: (line) => console.error(line),
    isColoured: stdout.isTTY && env['NO_COLOR'] === undefined && env['TERM'] !== 'dumb',
    readInput: () => text(stdin),
    confirm: stdin.isTTY ? (question) => confirmOnTerminal(question, signal) : undefined,
    ask: stdin.isTTY ? (question) => askOnTerminal(question, signal) : undefined,
    exitWith,
  };
}

async function confirmOnTerminal(question: string, signal: AbortSignal): Promise<boolean> {
  return /^y(es)?$/i.test(await askOnTerminal(`${question} [y/N] `, signal));
}

/** The question goes to the error output, so that the result can be piped. */
async function askOnTerminal(question: string, signal: AbortSignal): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return (await terminal.question(question, { signal })).trim();
  } finally {
    terminal.close();
  }
}

/** Returns the folder of the settings, by the XDG Base Directory Specification. */
export function settingsFolder(environment: Environment): string {
  return join(baseFolder(environment, 'XDG_CONFIG_HOME', '.config'), 'operations-bridge');
}

/** Returns the folder of what the command itself keeps between two runs. */
export function stateFolder(environment: Environment): string {
  return join(baseFolder(environment, 'XDG_STATE_HOME', join('.local', 'state')), 'operations-bridge');
}

/** The specification says that a relative path in such a variable must be ignored. */
function baseFolder(environment: Environment, name: string, otherwise: string): string {
  const folder = environment[name];
  if (folder?.startsWith('/')) return folder;
  return join(environment['HOME'] ?? homedir(), otherwise);
}

/** Aborts with `signal`, or after the duration. `AbortSignal.timeout` would fire at once for more than 25 days. */
export function withDeadline(signal: AbortSignal, durationMs: number | undefined, clock: Clock): AbortSignal {
  if (durationMs === undefined) return signal;
  const over = stoppedBy(signal);
  const end = () => over.abort(new Error('the time of --for is over'));
  void clock.sleep(durationMs, signal).then(end, () => {});
  return over.signal;
}

/**
 * Hands the work a signal that aborts with `signal`, or with a `TimeoutError` after the duration. The time is that of the
 * clock, and nothing goes on waiting for it once the work has ended.
 */
export async function within<Result>(
  durationMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const [over, ended] = [new AbortController(), new AbortController()];
  const end = () => over.abort(new DOMException('it took too long', 'TimeoutError'));
  void clock.sleep(durationMs, AbortSignal.any([signal, ended.signal])).then(end, () => {});
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } finally {
    ended.abort();
  }
}

/** Both clocks agree at the instant `originMs`, so processes that share it agree with each other. */
export function scaledClock(speed: number, originMs: number, base: Clock = systemClock): Clock {
  if (speed === 1) return base;
  return {
    now: () => originMs + (base.now() - originMs) * speed,
    sleep: (durationMs, signal) => base.sleep(durationMs / speed, signal),
  };
}
