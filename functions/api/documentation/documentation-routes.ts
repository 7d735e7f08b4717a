/** Serves the documentation. Its routes are in the table of routes themselves, and need no token. */

import * as z from 'zod';
import type { Route } from '../serving/route.ts';

/** This is the version of the OpenAPI document. It is raised when routes change. */
export const API_VERSION = '1.0.0';

const DOCUMENT_PATH = '/bridge/v1/openapi.json';

/** Returns the routes and the two routes of their documentation, which describes these two as well. */
export function withDocumentation(routes: readonly Route[]): readonly Route[] {
  const all: readonly Route[] = [
    ...routes,
    {
      id: 'getOpenApiDocument',
      method: 'GET',
      path: DOCUMENT_PATH,
      summary: 'This API as an OpenAPI 3.1 document',
      group: 'Documentation',
      access: 'public',
      status: 200,
      answer: z.looseObject({ openapi: z.string() }),
      handle: async () => ({ status: 200, body: await documentOf(all) }),
    },
    {
      id: 'getDocumentation',
      method: 'GET',
      path: '/bridge/v1/docs',
      summary: 'This API as a page to read and to try',
      group: 'Documentation',
      access: 'public',
      status: 200,
      mediaType: 'text/html',
      answer: z.string(),
      async handle() {
        const [{ docsPage, PAGE_POLICY }, document] = await Promise.all([
          import('./docs-page.ts'),
          documentOf(all),
        ]);
        return {
          status: 200,
          headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY },
          body: docsPage(document),
        };
      },
    },
  ];
  return all;
}

/** The generator of the document is loaded when the document is asked for, so that no other cold start pays for it. */
async function documentOf(routes: readonly Route[]) {
  const { openApiDocument } = await import('./openapi.ts');
  return openApiDocument(routes, API_VERSION);
}
