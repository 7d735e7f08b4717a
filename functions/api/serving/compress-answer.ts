/** Compresses the answers of the API and the console for whoever accepts it. */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { parseAccept } from 'hono/utils/accept';
import { COMPRESSIBLE_CONTENT_TYPE_REGEX } from 'hono/utils/compress';

/** A shorter answer fits into one packet with its headers, compressed or not. */
const WORTH_BYTES_MIN = 1_200;

const gzipped = promisify(gzip);

/**
 * Returns the answer compressed when its bytes are worth it, and the same one otherwise. A page has a secret of its session and
 * words of its address in it, from which lengths could tell the secret (BREACH); the cookie of the session is not sent with requests
 * that another site begins, so no other site gets such a page made.
 */
export async function compressAnswer(request: Request, answer: Response): Promise<Response> {
  const { body, status } = answer;
  // The server of a local run copies the headers once the body is asked for, and sends the copy.
  const { headers } = answer;
  if (body === null || !COMPRESSIBLE_CONTENT_TYPE_REGEX.test(headers.get('content-type') ?? ''))
    return answer;
  if (!headers.has('vary')) headers.set('vary', 'Accept-Encoding');
  if (headers.has('content-encoding') || !acceptsGzip(request.headers.get('accept-encoding'))) return answer;
  const plain = new Uint8Array(await answer.arrayBuffer());
  if (plain.length < WORTH_BYTES_MIN) return new Response(plain, { status, headers });
  headers.set('content-encoding', 'gzip');
  headers.delete('content-length');
  return new Response(await gzipped(plain), { status, headers });
}

/** Reads the header as RFC 9110, 12.5.3, says. A client without it gets the answer as it is. */
export function acceptsGzip(acceptEncoding: string | null | undefined): boolean {
  const accepted = parseAccept(acceptEncoding ?? '');
  const named = accepted.find(({ type }) => type.toLowerCase() === 'gzip');
  const { q } = named ?? accepted.find(({ type }) => type === '*') ?? { q: 0 };
  return q > 0;
}
