/** Derives the id of an event from its content, so that equal readings give equal ids even after the table was restored. */

import { createHash } from 'node:crypto';

const RECIPE_VERSION = 'v1';
const ID_HEX_DIGITS = 32;

/** Returns 128 bits of SHA-256 over the parts, as hex. The version of this recipe is hashed, too. */
export function eventId(parts: readonly (string | number | null)[]): string {
  const text = JSON.stringify([RECIPE_VERSION, ...parts]);
  return createHash('sha256').update(text).digest('hex').slice(0, ID_HEX_DIGITS);
}
