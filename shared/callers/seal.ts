/**
 * Seals text that the bridge hands out or keeps and that only the bridge can read or change: AES-256-GCM (NIST SP
 * 800-38D) with a key derived by HKDF (RFC 5869) from a secret that the table does not hold.
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { AppError } from '../runtime/errors.ts';
import { once } from '../runtime/on-demand.ts';
import type { Secret } from '../runtime/secret.ts';
import type { Caller } from './scopes.ts';

export interface SealOptions {
  /** The pepper of the tokens, or the key of the queue. Both are kept in Secrets Manager and never in the table. */
  readonly key: Secret;
  /** Each purpose has its own keys, so that text sealed for one purpose cannot be used for another. */
  readonly purpose: 'cursor' | 'kept-answer' | 'queued-request' | 'queued-answer' | 'task-token' | 'sign-in';
  /** The text has this owner, and cannot be opened for another one. */
  readonly boundTo: string;
}

const KEY_BYTES = 32;

/** SP 800-38D recommends this length (96 bits). */
const NONCE_BYTES = 12;

const TAG_BYTES = 16;

export function seal(text: string, options: SealOptions): string {
  const { cipherKey, nonceKey } = keysOf(options);
  // The nonce is derived from the text, so two different texts do not get the same nonce through a bad source of randomness.
  const nonce = createHmac('sha256', nonceKey)
    .update(JSON.stringify([options.boundTo, text]))
    .digest()
    .subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', cipherKey, nonce).setAAD(Buffer.from(options.boundTo));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url');
}

/**
 * Returns undefined when the text was made up, changed or cut off, or was sealed for another purpose or owner, or
 * under another key.
 */
export function unseal(sealed: string, options: SealOptions): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', keysOf(options).cipherKey, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(options.boundTo))
    .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * Names an owner within one life of an account. In the first life the name is as it was before there were generations,
 * so that what was sealed then can still be opened.
 */
export function inLife(generation: number | undefined, name: string): string {
  return generation === undefined || generation === 1 ? name : `${name}#${generation}`;
}

function keysOf({ key, purpose }: SealOptions): { readonly cipherKey: Buffer; readonly nonceKey: Buffer } {
  const info = `operations-bridge ${purpose} v1`;
  const derived = Buffer.from(hkdfSync('sha256', key.reveal(), '', info, 2 * KEY_BYTES));
  return { cipherKey: derived.subarray(0, KEY_BYTES), nonceKey: derived.subarray(KEY_BYTES) };
}

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
