/** Builds the console over the ports of the API. It is loaded with the first request for a page of the console. */

import type { Hono } from 'hono';
import type { ApiSettings } from '../../shared/config/api-config.ts';
import type { ApiPorts, Directory, Readers } from './api-ports.ts';
import { createConsole } from './console/create-console.ts';
import { readAlertHistory } from './console/pages/operation/alert-history.ts';
import { createEndedSessions } from './console/session/ended-sessions.ts';
import { createIdentityProvider } from './console/sign-in/identity-provider.ts';
import { createRoleCallers } from './console/sign-in/role-callers.ts';
import { rawRequestOf } from './serving/raw-request.ts';
import type { Route } from './serving/route.ts';
import { type ServeDeps, serveCaller } from './serving/serve-route.ts';

export function createPages(
  { table, pepper, busName, clock, signInSecret }: ApiPorts,
  { alertChannels, signIn }: ApiSettings,
  parts: {
    readonly directory: Directory;
    readonly readers: Readers;
    readonly serving: ServeDeps;
    readonly routes: readonly Route[];
  },
): Hono {
  const { readers, serving, routes } = parts;
  return createConsole({
    ...readers,
    alertsOf: (record) => readAlertHistory(table, alertChannels, record),
    authenticator: serving.authenticator,
    endedSessions: createEndedSessions(table),
    callerOfPerson: createRoleCallers(signIn),
    provider: signIn && createIdentityProvider(signIn, { clock, secret: signInSecret }),
    signIn,
    consoleBaseUrl: signIn?.base_url,
    pepper,
    clock: serving.clock,
    newId: serving.newId,
    busName,
    upstreamPages: { get: (accountId) => parts.directory.get(accountId)?.settings.upstream_page_url },
    telemetry: serving.telemetry,
    audit: serving.audit,
    routes,
    call: (route, { caller, ...request }) =>
      serveCaller(serving, route, { caller, raw: rawRequestOf(request) }),
  });
}
