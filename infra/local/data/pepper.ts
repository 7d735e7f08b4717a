/**
 * Keeps the pepper in the file `token-pepper`. It keys the hashes of tokens, so the tokens of one run are valid in
 * the next.
 */

import { randomBytes } from 'node:crypto';
import { UsageError } from '../../process/option-values.ts';
import { keptText } from './kept-file.ts';

const PEPPER_BYTES = 32;

export function newPepper(): string {
  return randomBytes(PEPPER_BYTES).toString('hex');
}

/** Throws a `UsageError` when the file is not a whole pepper, because with a part of it no token would be valid. */
export function keptPepper(path: string): string {
  const pepper = keptText(path, newPepper).trim();
  if (pepper.length === PEPPER_BYTES * 2 && /^[0-9a-f]+$/.test(pepper)) return pepper;
  const fault = pepper === '' ? 'is empty' : 'is not a whole pepper';
  throw new UsageError(
    `${path} ${fault}, so no token of an earlier run can be checked; delete that file, and issue the tokens again.`,
  );
}
