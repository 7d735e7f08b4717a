/**
 * Gives every command the same manners: options are read with errors that say what is allowed, what a person can mend
 * gets one clear sentence and exit code 2, and every command ends in order.
 */

import { AppError, toError } from '../../shared/runtime/errors.ts';
import { codeOf, portRefusal, reasonOf } from './operating-system.ts';

/** Runs a command's main function and ends the process with its exit code. */
export async function runCommand(
  main: (signal: AbortSignal) => Promise<void>,
  exitCode: () => ExitCode = () => EXIT_CODES.succeeded,
): Promise<never> {
  const stop = new AbortController();
  stopOnSignals(stop);
  stopWithReader(stop);
  stopWithNpm(stop);
  const endWith = (thrown: unknown) => {
    const { sentence, exitCode: code } = failureOf(thrown);
    console.error(sentence);
    return process.exit(code);
  };
  // The library of the local tables throws where nobody can catch it.
  process.on('uncaughtException', endWith);
  try {
    await main(stop.signal);
    // What went wrong with the last lines is said in the next turn of the loop.
    await new Promise(setImmediate);
    return process.exit(exitCode());
  } catch (thrown) {
    return endWith(thrown);
  }
}

/** Says what a person reads, and with which exit code the process ends, when a command's main function has failed. */
export function failureOf(thrown: unknown): { readonly sentence: string; readonly exitCode: ExitCode } {
  const error = toError(thrown);
  if (/ENOSPC|No space left/.test(error.message))
    return { sentence: diskFull(error), exitCode: EXIT_CODES.failed };
  const exitCode = isForThePerson(error) ? EXIT_CODES.refused : EXIT_CODES.failed;
  return { sentence: sentenceOf(error), exitCode };
}

function diskFull({ message }: Error): string {
  return `The disk is full (${message}). Free some space, and start again: a run with --data goes on from what it has recorded.`;
}

function stopOnSignals(stop: AbortController): void {
  let signals = 0;
  const onSignal = () => {
    signals += 1;
    stop.abort(new Error('stopped by the user'));
    // A second Ctrl-C ends the process at once. What is recorded is safe, and the next start publishes the rest.
    if (signals > 1) process.exit(EXIT_CODES.interrupted);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

/**
 * When the reader of a pipe has gone (`npm start | head`), the command ends as after Ctrl-C and drops its remaining
 * lines.
 */
function stopWithReader(stop: AbortController): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error) => {
      if (codeOf(error) === 'EPIPE')
        return stop.abort(new Error('the reader of the output has closed the pipe'));
      // Nothing can be shown any more, and what is recorded survives a kill.
      if (stream === process.stdout) console.error(`The output cannot be written (${reasonOf(error)}).`);
      process.exit(EXIT_CODES.failed);
    });
}

const PARENT_CHECK_MS = 500;

/**
 * Stops the command when npm has ended. npm hands a signal to the shell that it started, and that shell ends without
 * handing the signal on to this process.
 */
function stopWithNpm(stop: AbortController): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const parentId = process.ppid;
  const checking = setInterval(() => {
    if (process.ppid !== parentId) stop.abort(new Error('npm has ended'));
  }, PARENT_CHECK_MS);
  checking.unref();
}

function isForThePerson(error: Error): boolean {
  return (
    error instanceof UsageError ||
    error instanceof AppError ||
    refusalOfPort(error) !== undefined ||
    isOptionError(error)
  );
}

function sentenceOf(error: Error): string {
  const refusal = refusalOfPort(error);
  if (refusal !== undefined) return refusal;
  if (isOptionError(error)) return error.message.split('. To specify')[0] ?? error.message;
  return isForThePerson(error) ? error.message : (error.stack ?? error.message);
}

/** Every server but the API listens on the port that `--port` names. */
function refusalOfPort(error: Error): string | undefined {
  if (!('syscall' in error) || error.syscall !== 'listen') return undefined;
  const port = 'port' in error ? String(error.port) : 'asked for';
  return portRefusal(codeOf(error), { port, option: 'port' });
}

/** Recognises what `parseArgs` throws for options that do not exist or lack a value. */
function isOptionError(error: Error): boolean {
  return codeOf(error).startsWith('ERR_PARSE_ARGS');
}

export const EXIT_CODES = {
  succeeded: 0,
  /** What was asked for was tried and did not succeed, or a fault of ours ended the command. */
  failed: 1,
  /** Nothing was done: the call was refused, or the command line, the settings or the connection must be mended. */
  refused: 2,
  /** It is not known whether the command was carried out, and waiting longer does not tell. */
  unknown: 3,
  /** Nobody knows what was asked about: there is no such thing, or it has not been seen yet. */
  not_found: 4,
  /** The outcome was not known when the time was over, as with `timeout` of coreutils. */
  timed_out: 124,
  /** Ctrl-C ended the command before its outcome was known: 128 and the number of SIGINT. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** The message is shown to the person as it is, and the command ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export function parseInteger(
  name: string,
  text: string,
  range: { readonly min: number; readonly max: number },
): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= range.min && value <= range.max) return value;
  throw new UsageError(`--${name} is "${text}"; it takes a whole number from ${range.min} to ${range.max}.`);
}

export function parsePort(name: string, text: string): number {
  return parseInteger(name, text, { min: 0, max: 65_535 });
}

export function parseShare(name: string, text: string): number {
  const share = Number(text);
  if (text.trim() !== '' && share >= 0 && share <= 1) return share;
  throw new UsageError(`--${name} takes a number from 0 to 1, not "${text}".`);
}

export function parseSpeed(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value >= 1 && value <= 100) return value;
  throw new UsageError(`--speed is "${text}"; it takes a number from 1 (real time) to 100.`);
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Converts `90s`, `5m` and `2h` to milliseconds. */
export function parseDuration(name: string, text: string): number {
  const match = /^(\d+)([smh])$/.exec(text);
  const unitMs = UNIT_MS[match?.[2] ?? ''];
  if (match?.[1] !== undefined && unitMs !== undefined && Number(match[1]) > 0)
    return Number(match[1]) * unitMs;
  throw new UsageError(`--${name} is "${text}"; it takes a duration such as 90s, 5m or 2h.`);
}
