/**
 * Seals the cursors that callers get: only the client that a cursor was given out to can use it, and only with the
 * same projects.
 */

import { AppError } from '../runtime/errors.ts';
import { once } from '../runtime/on-demand.ts';
import type { Secret } from '../runtime/secret.ts';
import type { Caller } from './authorize.ts';
import { inLife, seal, unseal } from './seal.ts';

export interface CursorSeal {
  seal(cursor: string): string;
  /** Throws `AppError` `cursor_invalid` when the cursor was made up or changed, or was given out to another caller. */
  open(sealed: string): string;
}

/** A cursor is padded to a multiple of this length, because its length would otherwise reveal the length of an id in it. */
const BLOCK_CHARACTERS = 64;

export function cursorSealOf(caller: Caller, pepper: Secret): CursorSeal {
  // Most reads seal nothing, and a caller may have hundreds of projects.
  const options = once(() => ({ key: pepper, purpose: 'cursor', boundTo: holderOf(caller) }) as const);
  return {
    seal: (cursor) =>
      seal(cursor.padEnd(Math.ceil(cursor.length / BLOCK_CHARACTERS) * BLOCK_CHARACTERS), options()),
    open(sealed) {
      const text = unseal(sealed, options());
      if (text !== undefined) return text.trimEnd();
      throw new AppError(
        'cursor_invalid',
        'The cursor is not one that this list gave out; begin without one',
      );
    },
  };
}

/** The token is not part of it, so that a caller with a rotated token can go on where the old token stopped. */
function holderOf({ account_id, generation, client_id, projectIds }: Caller): string {
  return JSON.stringify([
    inLife(generation, account_id),
    client_id,
    projectIds === undefined ? null : [...projectIds].toSorted(),
  ]);
}
