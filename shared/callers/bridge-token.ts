/**
 * Makes and recognizes the bridge's own tokens: `opb_<id>_<secret>_<checksum>`. The id names the record, which holds
 * only a keyed hash of the token. The prefix lets secret scanners find a leaked token, and the checksum saves a read
 * of the table for a mistyped one.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { createSecret, type Secret } from '../runtime/secret.ts';

export const TOKEN_PREFIX = 'opb';

/** The id is public and names the record. */
const ID_BYTES = 9;

/** 256 bits cannot be guessed at any rate of requests. */
const SECRET_BYTES = 32;

const TOKEN_PATTERN = /^opb_([0-9a-f]{18})_([0-9a-f]{64})_([0-9a-f]{8})$/;

export interface MintedToken {
  readonly id: string;
  /** The token is shown once, to the person who asked for it. */
  readonly token: Secret;
}

/** `randomBytes` must be a cryptographic source of randomness. */
export function mintToken(randomBytes: (count: number) => Uint8Array): MintedToken {
  const id = hexOf(randomBytes(ID_BYTES));
  const unchecked = `${TOKEN_PREFIX}_${id}_${hexOf(randomBytes(SECRET_BYTES))}`;
  return { id, token: createSecret(`${unchecked}_${checksumOf(unchecked)}`) };
}

/**
 * Returns the id of a well-formed token, or undefined when the text cannot be a token of the bridge. It does not say
 * that the token is valid.
 */
export function tokenIdOf(text: string): string | undefined {
  const match = TOKEN_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, id, secret, checksum] = match;
  return checksumOf(`${TOKEN_PREFIX}_${id}_${secret}`) === checksum ? id : undefined;
}

/** Returns an HMAC-SHA-256 as hex. Without the pepper, a copy of the table does not help to guess a token. */
export function tokenHash(text: string, pepper: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(text).digest('hex');
}

/** Compares two hashes, as hex, in constant time. */
export function isSameHash(presented: string, stored: string): boolean {
  const [a, b] = [Buffer.from(presented, 'hex'), Buffer.from(stored, 'hex')];
  return a.length === b.length && a.length > 0 && timingSafeEqual(a, b);
}

function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
