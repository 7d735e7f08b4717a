/** Adds all routes of the auth integration. */

import type { Hono } from 'hono';
import type { UpstreamEnv } from '../upstream-context.ts';
import { addDomainRoutes } from './domain-routes.ts';
import type { AuthRouteDeps } from './draw-auth-object.ts';
import { addEmailServerRoutes } from './email-server-routes.ts';
import { addIntegrationRoutes, addTransferRoute } from './integration-routes.ts';
import { addProviderRoutes } from './provider-routes.ts';
import { addUserRoutes } from './user-routes.ts';

export function addAuthRoutes(app: Hono<UpstreamEnv>, deps: AuthRouteDeps): void {
  addIntegrationRoutes(app, deps);
  addUserRoutes(app, deps);
  addTransferRoute(app, deps);
  addProviderRoutes(app);
  addDomainRoutes(app);
  addEmailServerRoutes(app);
}
