/** Writes the API's OpenAPI document without a running bridge: every route of the table, and no `extra_routes`. */

import { bridgeRoutes } from '../../functions/api/bridge/bridge-routes.ts';
import { API_VERSION, withDocumentation } from '../../functions/api/documentation/documentation-routes.ts';
import { openApiDocument } from '../../functions/api/documentation/openapi.ts';
import { passThroughRoutes } from '../../functions/api/upstream/pass-through-routes.ts';

export function openApiText(): string {
  // The routes are described here and never served, so nothing of what their answers need is used.
  const nothing = {} as never;
  const described = [
    ...passThroughRoutes(nothing, { extraRoutes: [], openCalls: [] }),
    ...bridgeRoutes(nothing),
  ];
  return `${JSON.stringify(openApiDocument(withDocumentation(described, nothing), API_VERSION), null, 2)}\n`;
}
