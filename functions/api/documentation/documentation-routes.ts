/**
 * Serves the documentation, whose routes need no token. Each document is kept as it is sent, plain and compressed,
 * because anybody may ask for it as often as they like.
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import * as z from 'zod';
import { onDemand } from '../../../shared/runtime/on-demand.ts';
import { acceptsGzip } from '../serving/app.ts';
import { Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest, Route } from '../serving/route.ts';

/** This is the version of package.json, which a function does not have with it. A test compares the two. */
export const API_VERSION = '0.2.0';

const DOCUMENT_PATH = '/bridge/v1/openapi.json';

const KEPT = 'The answer has an `ETag`, and 304 answers a request that names it in `If-None-Match`.';

/** Returns the routes and the two routes of their documentation, which describes these two as well. */
export function withDocumentation(
  routes: readonly Route[],
  clock: { readonly now: () => number },
): readonly Route[] {
  const kept = keptDocumentation(() => all, clock);
  const all: readonly Route[] = [
    ...routes,
    {
      id: 'getOpenApiDocument',
      method: 'GET',
      path: DOCUMENT_PATH,
      summary: 'This API as an OpenAPI 3.1 document',
      description: KEPT,
      group: 'Documentation',
      access: 'public',
      status: 200,
      answer: z.looseObject({ openapi: z.string() }),
      furtherProblems: ['rate-limited'],
      async handle(request) {
        const { answers, document } = await kept();
        return answers(document, request);
      },
    },
    {
      id: 'getDocumentation',
      method: 'GET',
      path: '/bridge/v1/docs',
      summary: 'This API as a page to read and to try',
      description: KEPT,
      group: 'Documentation',
      access: 'public',
      status: 200,
      mediaType: 'text/html',
      answer: z.string(),
      furtherProblems: ['rate-limited'],
      async handle(request) {
        const { answers, page } = await kept();
        return answers(page, request);
      },
    },
  ];
  return all;
}

/**
 * The document and its page are made once, when one of them is asked for for the first time: making them takes ten times as long
 * as any other answer, and no other cold start pays for their generator.
 */
function keptDocumentation(routes: () => readonly Route[], clock: { readonly now: () => number }) {
  return onDemand(async () => {
    const [{ openApiDocument }, { docsPage, PAGE_POLICY }] = await Promise.all([
      import('./openapi.ts'),
      import('./docs-page.ts'),
    ]);
    const made = openApiDocument(routes(), API_VERSION);
    const [document, page] = await Promise.all([
      keepDocument(JSON.stringify(made), { 'content-type': 'application/json' }),
      keepDocument(docsPage(made), {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': PAGE_POLICY,
      }),
    ]);
    return { answers: createDocumentAnswers(clock), document, page };
  });
}

/**
 * One instance sends at most this much documentation in a minute, to all who ask together. It is enough for 180 compressed
 * documents or four plain ones. The bound keeps strangers from running up the bill of the AWS account.
 */
export const DOCUMENTATION_BYTES_PER_MINUTE = 6_000_000;

const MINUTE_MS = 60_000;

interface KeptDocument {
  readonly plain: Uint8Array;
  readonly gzipped: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

async function keepDocument(text: string, headers: Readonly<Record<string, string>>): Promise<KeptDocument> {
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
function createDocumentAnswers(clock: { readonly now: () => number }) {
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
