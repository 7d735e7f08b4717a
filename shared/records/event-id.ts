/**
 * Derives the id of an event from all of its bytes: copies of one event have one id, and a transition that is observed
 * at another time after a restore is another event (PROTOCOL.md, P4).
 */

import { createHash } from 'node:crypto';

const RECIPE_VERSION = 'v2';
const ID_HEX_DIGITS = 32;

/** Returns 128 bits of SHA-256 over the parts, as hex. The version of this recipe is hashed, too. */
export function hashOf(parts: readonly unknown[]): string {
  const text = JSON.stringify([RECIPE_VERSION, ...parts]);
  return createHash('sha256').update(text).digest('hex').slice(0, ID_HEX_DIGITS);
}

/** Returns the entry with the id of its event. `identity` names the record of the entry. */
export function withEventId<Entry extends { readonly type: string }>(
  identity: readonly string[],
  entry: Entry,
): Entry & { readonly id: string } {
  return { ...entry, id: hashOf([...identity, entry]) };
}
