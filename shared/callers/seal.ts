/**
 * Text that the bridge hands out or keeps and that only the bridge can read or change: AES-256-GCM (NIST SP 800-38D) with a key
 * derived by HKDF (RFC 5869) from a secret that the table does not hold.
 */

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import type { Secret } from '../runtime/secret.ts';

export interface SealOptions {
  /** The token pepper: it stands in Secrets Manager and nowhere in the table. */
  readonly pepper: Secret;
  /** What the text is for; each purpose has keys of its own, so that no sealed text is good for another purpose. */
  readonly purpose: 'cursor' | 'kept-answer';
  /** Whom or what the text belongs to; it cannot be opened for anybody else. */
  readonly boundTo: string;
}

const KEY_BYTES = 32;

/** The length that SP 800-38D recommends (96 bits). */
const NONCE_BYTES = 12;

const TAG_BYTES = 16;

export function seal(text: string, options: SealOptions): string {
  const { cipherKey, nonceKey } = keysOf(options);
  // The nonce is made of the text, so no source of randomness can repeat one for another text.
  const nonce = createHmac('sha256', nonceKey)
    .update(JSON.stringify([options.boundTo, text]))
    .digest()
    .subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', cipherKey, nonce).setAAD(Buffer.from(options.boundTo));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url');
}

/** Undefined when the text was made up, changed, cut off, sealed for something else, or under another pepper. */
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

function keysOf({ pepper, purpose }: SealOptions): { readonly cipherKey: Buffer; readonly nonceKey: Buffer } {
  const info = `operations-bridge ${purpose} v1`;
  const derived = Buffer.from(hkdfSync('sha256', pepper.reveal(), '', info, 2 * KEY_BYTES));
  return { cipherKey: derived.subarray(0, KEY_BYTES), nonceKey: derived.subarray(KEY_BYTES) };
}
