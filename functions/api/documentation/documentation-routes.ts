/** The routes that explain the others. They are part of the table themselves, and open to everybody. */

import type { Route } from '../serving/route.ts';
import { docsPage, PAGE_POLICY } from './docs-page.ts';
import { openApiDocument } from './openapi.ts';

/** Of the document, by its own rules: raised with the routes. */
export const API_VERSION = '1.0.0';

export const DOCUMENT_PATH = '/bridge/v1/openapi.json';

/** All routes with their documentation, which therefore has itself in it. */
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
      handle: async () => ({ status: 200, body: openApiDocument(all, API_VERSION) }),
    },
    {
      id: 'getDocumentation',
      method: 'GET',
      path: '/bridge/v1/docs',
      summary: 'This API as a page to read and to try',
      group: 'Documentation',
      access: 'public',
      status: 200,
      handle: async () => ({
        status: 200,
        headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': PAGE_POLICY },
        body: docsPage(openApiDocument(all, API_VERSION)),
      }),
    },
  ];
  return all;
}
