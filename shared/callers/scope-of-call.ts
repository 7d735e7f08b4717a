/** Gives each call of the specification its scope. */

import type { CallId } from '../upstream/calls/calls.ts';
import type { Scope } from './scopes.ts';

/** A call without a scope does not compile, so no call is open by mistake. */
export const scopeOfCall = {
  listProjects: 'projects:read',
  listOperations: 'operations:read',
  getOperation: 'operations:read',
  listEndpoints: 'computes:read',
  createEndpoint: 'computes:write',
  updateEndpoint: 'computes:write',
  deleteEndpoint: 'computes:delete',
  restartEndpoint: 'computes:restart',
  listAuthIntegrations: 'auth:read',
  listOauthProviders: 'auth:read',
  listRedirectDomains: 'auth:read',
  getEmailServer: 'auth:read',
  createAuthIntegration: 'auth:create',
  deleteAuthIntegration: 'auth:delete',
  createAuthKeys: 'auth:keys',
  createAuthUser: 'auth:users',
  deleteAuthUser: 'auth:users',
  addOauthProvider: 'auth:providers',
  updateOauthProvider: 'auth:providers',
  deleteOauthProvider: 'auth:providers',
  addRedirectDomain: 'auth:redirects',
  deleteRedirectDomains: 'auth:redirects',
  updateEmailServer: 'auth:email',
  transferAuthOwnership: 'auth:transfer',
} as const satisfies Readonly<Record<CallId, Scope>>;
