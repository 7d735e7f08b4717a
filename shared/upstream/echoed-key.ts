/** Detects an answer that repeats the key it was asked with, because a proxy that echoes requests would hand the key to the caller. */

import type { Secret } from '../runtime/secret.ts';

/** A shorter text would be found by chance; every key that was seen has dozens of characters. */
const KEY_CHARACTERS_MIN = 12;

/** Looks for the key as it is, as it would stand in a URL, and in base64, as a dump of the request might contain it. */
export function echoesKey(key: Secret, parts: readonly (string | Uint8Array)[]): boolean {
  const text = key.reveal();
  if (text.length < KEY_CHARACTERS_MIN) return false;
  const forms = [text, encodeURIComponent(text), ...base64Forms(text)];
  return parts.some((part) => {
    const bytes = Buffer.from(part);
    return forms.some((form) => bytes.includes(form));
  });
}

/**
 * Base64 encodes three bytes at a time, so the key has three forms, by the offset at which it begins. The first and the last
 * letters of each form depend on the bytes beside the key and are cut off.
 */
function base64Forms(text: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, -1);
  });
}
