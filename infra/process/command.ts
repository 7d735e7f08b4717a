/**
 * Gives every command the same manners: one clear sentence and exit code 2 for what a person can mend, and an orderly
 * end.
 */

import { AppError, toError } from '../../shared/runtime/errors.ts';
import { EXIT_CODES, type ExitCode } from './exit-codes.ts';
import { UsageError } from './option-values.ts';
import { portRefusal } from './port-refusal.ts';
import { codeOf } from './system-error.ts';

/** Runs a command's main function and ends the process with its exit code. */
export async function runCommand(
  main: (signal: AbortSignal) => Promise<void>,
  exitCode: () => ExitCode = () => EXIT_CODES.succeeded,
): Promise<never> {
  const stop = new AbortController();
  stopOnSignals(stop);
  stopWithReader(stop);
  stopWithNpm(stop);
  try {
    await main(stop.signal);
    return process.exit(exitCode());
  } catch (thrown) {
    const { sentence, exitCode: code } = failureOf(thrown);
    console.error(sentence);
    return process.exit(code);
  }
}

/** Says what a person reads, and with which exit code the process ends, when a command's main function has failed. */
export function failureOf(thrown: unknown): { readonly sentence: string; readonly exitCode: ExitCode } {
  const error = toError(thrown);
  const exitCode = isForThePerson(error) ? EXIT_CODES.refused : EXIT_CODES.failed;
  return { sentence: sentenceOf(error), exitCode };
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
      if (codeOf(error) !== 'EPIPE') throw error;
      stop.abort(new Error('the reader of the output has closed the pipe'));
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
