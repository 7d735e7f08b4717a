/** Takes in what others have written: its bytes with a bound, JSON that may be none, and text that a terminal or a page must not obey. */

/**
 * Resolves to the whole body, when it has at most `bytesMax` bytes. Otherwise it resolves to its beginning, up to the
 * first piece that passes the bound: then the result is longer than `bytesMax`, and the rest is not read. Rejects
 * with the stream's error when it breaks off.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null,
  bytesMax: number,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    sizeBytes += chunk.byteLength;
    if (sizeBytes > bytesMax) break;
  }
  return Buffer.concat(chunks);
}

/** Returns undefined for a text that is not JSON, which a schema then refuses by the name of its field. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * These are control, format (bidi marks, zero width), surrogate and private-use characters, and separators of lines
 * and paragraphs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Returns the text as one line in which every character is seen. */
export function oneLine(text: string): string {
  return text.replaceAll(UNPRINTABLE, ' ').replaceAll(/\s+/gu, ' ').trim();
}

/** Colours, which a command of the bridge gives its own words. */
const COLOUR = new RegExp(`(${String.fromCharCode(27)}\\[\\d\\dm)`);

/** Returns lines of which a terminal obeys nothing but colours. */
export function withoutOrders(lines: string): string {
  const plain = (part: string) => part.replaceAll(UNPRINTABLE, (found) => (found === '\n' ? found : ' '));
  return lines
    .split(COLOUR)
    .map((part, place) => (place % 2 === 1 ? part : plain(part)))
    .join('');
}

/** These turn the direction of what follows, or are obeyed. A page keeps its lines, and the joiners inside emoji. */
const DISGUISING = /[\p{Bidi_C}\p{Zl}\p{Zp}]|(?![\t\n\r])\p{Cc}/gu;

/** Returns the page with a mark in the place of every character that makes another text of what stands around it. */
export function withoutDisguise(page: string): string {
  return page.replaceAll(DISGUISING, '\uFFFD');
}
