/** What an error of the operating system says: its code, and a reason for people. */

import { toError } from '../../shared/runtime/errors.ts';

/** `ENOSPC`, `EADDRINUSE`, `ERR_PARSE_ARGS_UNKNOWN_OPTION`; empty when the error has none. */
export function codeOf(thrown: unknown): string {
  const error = toError(thrown);
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** True for what a file operation throws: it has an error number, which no other error has. */
export function isSystemError(thrown: unknown): boolean {
  const error = toError(thrown);
  return 'errno' in error && typeof error.errno === 'number';
}

/** `ENOSPC: no space left on device`, without the name of the function that failed. */
export function reasonOf(thrown: unknown): string {
  const [reason] = toError(thrown).message.split(', ');
  return reason ?? '';
}
