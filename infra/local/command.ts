/** What every command here shares: one clear sentence and exit code 2 for what a person can mend, and an end on Ctrl-C. */

import { AppError, toError } from '../../shared/runtime/errors.ts';
import { UsageError } from './option-values.ts';

/** Runs a command's main function and ends the process with its exit code. */
export async function runCommand(main: (signal: AbortSignal) => Promise<void>): Promise<never> {
  const stop = new AbortController();
  let signals = 0;
  const onSignal = () => {
    signals += 1;
    stop.abort(new Error('stopped by the user'));
    // A second Ctrl-C means now; what is recorded is safe, and what is not published leaves at the next start.
    if (signals > 1) process.exit(130);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    await main(stop.signal);
    return process.exit(0);
  } catch (thrown) {
    const error = toError(thrown);
    console.error(sentenceOf(error));
    return process.exit(isForThePerson(error) ? 2 : 1);
  }
}

function isForThePerson(error: Error): boolean {
  return (
    error instanceof UsageError ||
    error instanceof AppError ||
    codeOf(error) === 'EADDRINUSE' ||
    isOptionError(error)
  );
}

function sentenceOf(error: Error): string {
  if (codeOf(error) === 'EADDRINUSE') {
    const port = 'port' in error ? String(error.port) : 'asked for';
    return `Port ${port} is in use by another program; choose another one with --port, or leave it out.`;
  }
  if (isOptionError(error)) return error.message.split('. To specify')[0] ?? error.message;
  return isForThePerson(error) ? error.message : (error.stack ?? error.message);
}

/** What `parseArgs` throws for options that do not exist or lack a value. */
function isOptionError(error: Error): boolean {
  return codeOf(error).startsWith('ERR_PARSE_ARGS');
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}
