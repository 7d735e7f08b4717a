/** Reads what an error of the operating system says: its code, and a reason for people. */

import { toError } from '../../shared/runtime/errors.ts';

/**
 * Returns for example `ENOSPC`, `EADDRINUSE` or `ERR_PARSE_ARGS_UNKNOWN_OPTION`, and an empty text when the error has
 * no code.
 */
export function codeOf(thrown: unknown): string {
  const error = toError(thrown);
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Returns true for what a file operation throws: only such an error has an error number. */
export function isSystemError(thrown: unknown): boolean {
  const error = toError(thrown);
  return 'errno' in error && typeof error.errno === 'number';
}

/** Returns for example `ENOSPC: no space left on device`, without the name of the function that failed. */
export function reasonOf(thrown: unknown): string {
  const [reason] = toError(thrown).message.split(', ');
  return reason ?? '';
}
