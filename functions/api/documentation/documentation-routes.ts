/** Serves the documentation. Its routes are in the table of routes themselves, and need no token. */

import * as z from 'zod';
import { onDemand } from '../../../shared/runtime/on-demand.ts';
import type { Route } from '../serving/route.ts';

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
    const [{ openApiDocument }, { docsPage, PAGE_POLICY }, { createDocumentAnswers, keepDocument }] =
      await Promise.all([import('./openapi.ts'), import('./docs-page.ts'), import('./kept-document.ts')]);
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
