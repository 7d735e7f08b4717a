/** Detects an answer that repeats the key it was asked with, because a proxy that echoes requests would hand the key to the caller. */

import type { Secret } from '../runtime/secret.ts';

/** A shorter text would be found by chance; every key that was seen has dozens of characters. */
const KEY_CHARACTERS_MIN = 12;

/** Looks for the key as it is, as it would stand in a URL, and in base64, as a dump of the request might contain it. */
export function echoesKey(key: Secret, parts: readonly (string | Uint8Array)[]): boolean {
  if (key.reveal().length < KEY_CHARACTERS_MIN) return false;
  const forms = formsOf(key);
  return parts.some((part) => {
    if (typeof part === 'string') return forms.some(({ text }) => part.includes(text));
    const buffer = Buffer.isBuffer(part) ? part : bufferOver(part);
    return forms.some(({ bytes }) => buffer.includes(bytes));
  });
}

/** Every answer is searched, and the forms of a key are made once. They are forgotten together with the key. */
const knownForms = new WeakMap<Secret, readonly Form[]>();

interface Form {
  readonly text: string;
  readonly bytes: Buffer;
}

function formsOf(key: Secret): readonly Form[] {
  const known = knownForms.get(key);
  if (known !== undefined) return known;
  const text = key.reveal();
  const texts = new Set([text, encodeURIComponent(text), ...base64Forms(text)]);
  const forms = [...texts].map((form) => ({ text: form, bytes: Buffer.from(form) }));
  knownForms.set(key, forms);
  return forms;
}

/** The bytes are not copied. */
function bufferOver({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/**
 * Base64 encodes three bytes at a time, so the key has three forms, by the offset at which it begins. The first and the last
 * letters of each form depend on the bytes beside the key and are cut off.
 */
function base64Forms(text: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${'\0'.repeat(before)}${text}`)
      .toString('base64')
      .replace(/={1,2}$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, -1);
  });
}
