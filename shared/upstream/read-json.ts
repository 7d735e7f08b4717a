/** Reads a JSON answer with a bound on its bytes. */

/** A thousand operations are a third of a megabyte. */
const BODY_BYTES_MAX = 5_000_000;

export class AnswerUnreadable extends Error {
  override readonly name = 'AnswerUnreadable';
}

/**
 * `required`: rejects with `AnswerUnreadable` when the body is too large, cut off or not JSON. `optional`: undefined
 * then, for refusals, which may be a proxy's HTML page.
 */
export async function readJson(response: Response, need: 'required' | 'optional'): Promise<unknown> {
  const text = await readText(response);
  try {
    return JSON.parse(text);
  } catch {
    if (need === 'optional') return undefined;
    throw new AnswerUnreadable('the answer is not JSON');
  }
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let sizeBytes = 0;
  if (response.body === null) return text;
  for await (const chunk of response.body) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > BODY_BYTES_MAX)
      throw new AnswerUnreadable(`the answer is larger than ${BODY_BYTES_MAX} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
