/** Keeps a public document as it is sent, plain and compressed, because anybody may ask for it as often as they like. */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { acceptsGzip } from '../serving/app.ts';
import { Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';

/**
 * What one instance sends of the documentation in a minute, whoever asks: 180 compressed documents, or four plain ones. A
 * stranger gets no more out of the AWS account, and a person reads it once.
 */
export const DOCUMENTATION_BYTES_PER_MINUTE = 6_000_000;

const MINUTE_MS = 60_000;

export interface KeptDocument {
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

export async function keepDocument(
  text: string,
  headers: Readonly<Record<string, string>>,
): Promise<KeptDocument> {
  const plain = Buffer.from(text);
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  return {
    plain,
    gzipped: await promisify(gzip)(plain, { level: 9 }),
    // A browser keeps it, and asks each time whether it is still the same.
    headers: { ...headers, etag, 'cache-control': 'no-cache', vary: 'Accept-Encoding' },
  };
}

/** Answers with the document as often as the bytes of a minute allow, and throws `Problem` `rate-limited` beyond that. */
export function createDocumentAnswers(clock: { readonly now: () => number }) {
  let bytesLeft = DOCUMENTATION_BYTES_PER_MINUTE;
  let countedMs = clock.now();
  const use = (bytes: number) => {
    const nowMs = clock.now();
    const grown = (Math.max(0, nowMs - countedMs) / MINUTE_MS) * DOCUMENTATION_BYTES_PER_MINUTE;
    bytesLeft = Math.min(DOCUMENTATION_BYTES_PER_MINUTE, bytesLeft + grown);
    countedMs = nowMs;
    if (bytes > bytesLeft) throw tooOften(((bytes - bytesLeft) / DOCUMENTATION_BYTES_PER_MINUTE) * MINUTE_MS);
    bytesLeft -= bytes;
  };
  return ({ plain, gzipped, headers }: KeptDocument, { headers: asked }: ApiRequest): ApiAnswer => {
    if (namesTag(asked['if-none-match'], headers['etag'])) return { status: 304, headers };
    const isGzipped = acceptsGzip(asked['accept-encoding']);
    const body = isGzipped ? gzipped : plain;
    use(body.length);
    return { status: 200, headers: { ...headers, ...(isGzipped && { 'content-encoding': 'gzip' }) }, body };
  };
}

/** Compares as RFC 9110, 13.1.2, says for reads: weakly. */
function namesTag(ifNoneMatch: string | undefined, etag = ''): boolean {
  const bare = (tag: string) => tag.trim().replace(/^W\//, '');
  return (ifNoneMatch ?? '').split(',').some((tag) => bare(tag) === bare(etag) || tag.trim() === '*');
}

function tooOften(delayMs: number): Problem {
  const seconds = Math.ceil(delayMs / 1_000);
  return new Problem('rate-limited', {
    detail: `The documentation was asked for too often; ask again in ${seconds} s, and accept gzip. openapi.json of the release is the same document.`,
    headers: { 'retry-after': String(seconds) },
  });
}
