/**
 * Keeps the random secrets of a run in files: the pepper, which keys the hashes of tokens, and the key of the queue, which
 * seals the commands that wait. With them the next run knows the tokens and can send the commands.
 */

import { randomBytes } from 'node:crypto';
import { UsageError } from '../../process/option-values.ts';
import { keptText } from './kept-file.ts';

const SECRET_BYTES = 32;

/** Returns a new random secret in hex. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('hex');
}

/** Throws a `UsageError` when the file is not a whole pepper, because with a part of it no token would be valid. */
export function keptPepper(path: string): string {
  return keptSecret(path, {
    what: 'pepper',
    so: 'no token of an earlier run can be checked; delete that file, and issue the tokens again',
  });
}

/** Throws a `UsageError` when the file is not a whole key, because with a part of it no waiting command could be opened. */
export function keptQueueKey(path: string): string {
  return keptSecret(path, {
    what: 'key',
    so: 'no command that waits can be opened; delete that file, and send again what ends as failed',
  });
}

function keptSecret(path: string, { what, so }: { readonly what: string; readonly so: string }): string {
  const secret = keptText(path, newSecret).trim();
  if (secret.length === SECRET_BYTES * 2 && /^[0-9a-f]+$/.test(secret)) return secret;
  const fault = secret === '' ? 'is empty' : `is not a whole ${what}`;
  throw new UsageError(`${path} ${fault}, so ${so}.`);
}
