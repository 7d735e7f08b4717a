/** Whether an answer repeats the key that it was asked with: a proxy that echoes requests would hand it to the caller. */

import type { Secret } from '../runtime/secret.ts';

/** A shorter text would be found by chance; every key seen has dozens of characters. */
const KEY_CHARACTERS_MIN = 12;

/** As it is, as it stands in a URL, and in base64, as a dump of the request might have it. */
export function echoesKey(key: Secret, parts: readonly (string | Uint8Array)[]): boolean {
  const text = key.reveal();
  if (text.length < KEY_CHARACTERS_MIN) return false;
  const forms = [text, encodeURIComponent(text), ...base64Forms(text)];
  return parts.some((part) => {
    const bytes = Buffer.from(part);
    return forms.some((form) => bytes.includes(form));
  });
}

/** Base64 of the key looks different at each of the three places where it can begin; its first and last letters depend on what is beside it. */
function base64Forms(text: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`)
      .toString('base64')
      .replace(/=+$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, -1);
  });
}
