/** What a caller may be allowed to do: one scope per call, by what the call can do to people. */

import type { CallId } from '../upstream/calls/calls.ts';

export const SCOPES = [
  'projects:read',
  'operations:read',
  'computes:read',
  'computes:write',
  'computes:delete',
  'computes:restart',
  'auth:read',
  'auth:create',
  'auth:delete',
  /** Issues keys of the auth provider: whoever has one is every user of the project. */
  'auth:keys',
  'auth:users',
  'auth:providers',
  /** A domain to which the provider redirects can receive sign-ins. */
  'auth:redirects',
  'auth:email',
  /** Gives the auth project away. In no bundle: it is granted by name alone. */
  'auth:transfer',
  /** Secrets that a read shows: the password of the e-mail server, client secrets of providers. */
  'secrets:read',
  /** Who asked for what, of all callers. */
  'audit:read',
] as const;

export type Scope = (typeof SCOPES)[number];

/** A call without a scope does not compile: deny is the default. */
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
