/** Defines bundles and wildcards: short names for many scopes, which are replaced by these scopes when a token is made. */

import { isScope, SCOPES, SCOPES_BY_NAME, type Scope } from './scopes.ts';

/** A viewer sees everything that is neither a secret nor about people or money. */
const viewer: readonly Scope[] = [
  'projects:read',
  'operations:read',
  'branches:read',
  'computes:read',
  'databases:read',
  'roles:read',
  'snapshots:read',
  'data-api:read',
  'network:read',
  'storage:read',
  'functions:read',
  'auth:read',
  'consumption:read',
  'regions:read',
  'users:read',
];

const operator: readonly Scope[] = [
  ...viewer,
  'computes:restart',
  'computes:write',
  'snapshots:write',
  'alerts:mute',
];

const deployer: readonly Scope[] = [
  ...operator,
  'projects:write',
  'branches:write',
  'branches:delete',
  'computes:delete',
  'databases:write',
  'databases:delete',
  'roles:write',
  'roles:delete',
  'connection:read',
  'data-api:write',
  'functions:write',
  'storage:write',
];

export const SCOPE_BUNDLES = {
  viewer: { meaning: 'Sees everything but secrets, people and money.', scopes: viewer },
  operator: {
    meaning: 'A viewer who also starts, restarts and resizes computes, takes snapshots, and mutes alerts.',
    scopes: operator,
  },
  deployer: {
    meaning:
      'An operator who also creates projects, branches, databases and roles, and gets their connection strings.',
    scopes: deployer,
  },
  admin: {
    meaning: 'Everything that needs no scope by its own name.',
    scopes: SCOPES.filter((scope) => !SCOPES_BY_NAME.has(scope)),
  },
} as const satisfies Readonly<
  Record<string, { readonly meaning: string; readonly scopes: readonly Scope[] }>
>;

/**
 * Returns the scopes that a name stands for: a scope, a bundle, or `resource:*`. Returns undefined when it stands for
 * none.
 */
export function scopesNamed(name: string): readonly Scope[] | undefined {
  if (isScope(name)) return [name];
  if (Object.hasOwn(SCOPE_BUNDLES, name)) return SCOPE_BUNDLES[name as keyof typeof SCOPE_BUNDLES].scopes;
  const resource = /^([a-z-]+):\*$/.exec(name)?.[1];
  if (resource === undefined) return undefined;
  const scopes = SCOPES.filter((scope) => scope.startsWith(`${resource}:`) && !SCOPES_BY_NAME.has(scope));
  return scopes.length > 0 ? scopes : undefined;
}
