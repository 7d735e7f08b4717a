/** Reads an answer with a bound on its bytes, counted after decompression. */

import { readBounded } from '../runtime/read-bounded.ts';
import type { HttpAnswer } from './http-exchange.ts';

/** The message says what is wrong with the body and contains nothing of it. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
}

/**
 * Undefined when there is no body, as after 204. Rejects with `UnreadableBody` when the body is too large or not JSON, and with the
 * stream's error when it breaks off.
 */
export async function readJson(
  response: HttpAnswer,
  bytesMax: number,
  decode: (text: string) => unknown = JSON.parse,
): Promise<unknown> {
  const text = await readText(response, bytesMax);
  if (text === '') return undefined;
  try {
    return decode(text);
  } catch {
    throw new UnreadableBody('the answer is not JSON');
  }
}

/** Decodes whole texts only, so it keeps nothing between two of them. */
const UTF_8 = new TextDecoder();

async function readText(response: HttpAnswer, bytesMax: number): Promise<string> {
  return UTF_8.decode(await readBytes(response, bytesMax));
}

/**
 * Returns the whole body, at most `bytesMax` bytes after decompression. Rejects with `UnreadableBody` when it is
 * larger.
 */
export async function readBytes(response: HttpAnswer, bytesMax: number): Promise<Uint8Array> {
  const bytes = await readBounded(response.body, bytesMax);
  if (bytes.byteLength > bytesMax) throw new UnreadableBody(`the answer is larger than ${bytesMax} bytes`);
  return bytes;
}
