/** Writes the API's OpenAPI document, so that clients can be generated from it without running the bridge. */

import { bridgeRoutes } from '../../../functions/api/bridge/bridge-routes.ts';
import { API_VERSION, withDocumentation } from '../../../functions/api/documentation/documentation-routes.ts';
import { openApiDocument } from '../../../functions/api/documentation/openapi.ts';
import { passThroughRoutes } from '../../../functions/api/upstream/pass-through-routes.ts';
import type { GeneratedFile } from './generated-section.ts';

export function apiDocs(): readonly GeneratedFile[] {
  // The routes are described here and never served, so nothing of what their answers need is used.
  const nothing = {} as never;
  const described = [
    ...passThroughRoutes(nothing, { extraRoutes: [], openCalls: [] }),
    ...bridgeRoutes(nothing),
  ];
  const routes = withDocumentation(described, nothing);
  return [
    { path: 'docs/openapi.json', text: `${JSON.stringify(openApiDocument(routes, API_VERSION), null, 2)}\n` },
  ];
}
