/** Finds out whether an answer repeats the bridge's key: a proxy that echoes requests would otherwise hand the key to the caller. */

import type { Secret } from '../runtime/secret.ts';

/** A shorter text could be found by chance, and every key that was seen has dozens of characters. */
const KEY_CHARACTERS_MIN = 12;

/** Looks for the key as it is, as it stands in a URL, and in base64, as it would stand in a dump of the request. */
export function echoesKey(key: Secret, parts: readonly (string | Uint8Array)[]): boolean {
  const text = key.reveal();
  if (text.length < KEY_CHARACTERS_MIN) return false;
  const forms = [text, encodeURIComponent(text), ...base64Forms(text)];
  return parts.some((part) => {
    const bytes = Buffer.from(part);
    return forms.some((form) => bytes.includes(form));
  });
}

/** The base64 of a longer text contains the key in one of three forms, depending on where the key begins. The first and last letters of each form depend on the text beside the key, and are left out. */
function base64Forms(text: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, -1);
  });
}
