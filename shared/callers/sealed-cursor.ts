/** Cursors as callers carry them: sealed, and good only for the client and the projects that they were given out to. */

import { AppError } from '../runtime/errors.ts';
import type { Secret } from '../runtime/secret.ts';
import type { Caller } from './authorize.ts';
import { seal, unseal } from './seal.ts';

export interface CursorSeal {
  seal(cursor: string): string;
  /** Throws `AppError` `cursor_invalid`: made up, changed, or given out to somebody else. */
  open(sealed: string): string;
}

/** A cursor's length would give away the length of an id in it, so it is filled up to a multiple of this. */
const BLOCK_CHARACTERS = 64;

export function cursorSealOf(caller: Caller, pepper: Secret): CursorSeal {
  const options = { pepper, purpose: 'cursor', boundTo: holderOf(caller) } as const;
  return {
    seal: (cursor) =>
      seal(cursor.padEnd(Math.ceil(cursor.length / BLOCK_CHARACTERS) * BLOCK_CHARACTERS), options),
    open(sealed) {
      const text = unseal(sealed, options);
      if (text !== undefined) return text.trimEnd();
      throw new AppError(
        'cursor_invalid',
        'The cursor is not one that this list gave out; begin without one',
      );
    },
  };
}

/** Not the token: a rotated token goes on where the one before it stopped. */
function holderOf({ account_id, client_id, projectIds }: Caller): string {
  return JSON.stringify([
    account_id,
    client_id,
    projectIds === undefined ? null : [...projectIds].toSorted(),
  ]);
}
