/** The API's document as a file, for whoever generates a client without running the bridge. */

import { bridgeRoutes } from '../../../functions/api/bridge/bridge-routes.ts';
import { API_VERSION, withDocumentation } from '../../../functions/api/documentation/documentation-routes.ts';
import { openApiDocument } from '../../../functions/api/documentation/openapi.ts';
import { passThroughRoutes } from '../../../functions/api/upstream/pass-through-routes.ts';
import { extraRoutes } from '../../../shared/config/api-config.ts';
import { LOCAL_EXTRA_ROUTES } from '../../local/local-api.ts';
import type { GeneratedFile } from './event-docs.ts';

export function apiDocs(): readonly GeneratedFile[] {
  // Described, never served: what a route needs for an answer is not asked for.
  const nothing = {} as never;
  const routes = withDocumentation([
    ...passThroughRoutes(nothing, extraRoutes.parse(LOCAL_EXTRA_ROUTES)),
    ...bridgeRoutes(nothing),
  ]);
  return [
    { path: 'docs/openapi.json', text: `${JSON.stringify(openApiDocument(routes, API_VERSION), null, 2)}\n` },
  ];
}
