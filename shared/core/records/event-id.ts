/** The identity of an event: derived from its content, so that equal readings give equal ids even after a restore. */

import { createHash } from 'node:crypto';

const RECIPE_VERSION = 'v1';
const ID_HEX_DIGITS = 32;

/** 128 bits of SHA-256 over the parts, as hex. The recipe's version is part of the text that is hashed. */
export function eventId(parts: readonly (string | number | null)[]): string {
  const text = JSON.stringify([RECIPE_VERSION, ...parts]);
  return createHash('sha256').update(text).digest('hex').slice(0, ID_HEX_DIGITS);
}
