/** Lists the scopes of callers. Each call needs one, chosen by the harm that the call can do. */

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
  /** This scope issues keys of the auth provider. The holder of such a key can act as every user of the project. */
  'auth:keys',
  'auth:users',
  'auth:providers',
  /** This scope manages the domains that the provider redirects to, which receive sign-ins. */
  'auth:redirects',
  'auth:email',
  /** This scope gives the auth project away. No bundle contains it: it must be granted by its name. */
  'auth:transfer',
  /**
   * This scope shows secrets in the answers to reads: the password of the e-mail server, and client secrets of
   * providers.
   */
  'secrets:read',
  /** This scope reads the audit of all callers. */
  'audit:read',
] as const;

export type Scope = (typeof SCOPES)[number];

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
