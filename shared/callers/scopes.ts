/**
 * Lists the scopes of callers, each with a sentence on what it allows, the short names for many of them, and decides
 * whether a caller may send a call before the body of the request is read.
 */

export const SCOPE_MEANINGS = {
  'projects:read': 'Lists projects, and shows their settings, their permissions and the advice for them.',
  'projects:write': 'Creates, changes and recovers projects.',
  'projects:delete': 'Deletes projects.',
  'projects:share': 'Lets other people of the service use a project, sets their roles, and withdraws both.',
  'projects:transfer': 'Gives projects to another person or organization.',
  'operations:read': 'Shows operations, their history and their events.',
  'operations:repair':
    'Has the operations of a project compared with the upstream; what is missing is recorded and published.',
  'branches:read': 'Shows branches, their schemas and their masking rules.',
  'branches:write': 'Creates, changes, restores and anonymizes branches.',
  'branches:delete': 'Deletes branches.',
  'logs:read': 'Searches the logs of branches, which may show what people have stored.',
  'computes:read': 'Shows computes.',
  'computes:write': 'Creates and changes computes.',
  'computes:delete': 'Deletes computes.',
  'computes:restart': 'Starts, suspends and restarts computes.',
  'databases:read': 'Shows databases.',
  'databases:write': 'Creates and changes databases.',
  'databases:delete': 'Deletes databases.',
  'roles:read': 'Shows the roles of Postgres, without their passwords.',
  'roles:write': 'Creates roles of Postgres and resets their passwords.',
  'roles:delete': 'Deletes roles of Postgres.',
  'connection:read': 'Shows connection strings and the passwords of roles, also in the answers to commands.',
  'snapshots:read': 'Shows snapshots and the schedule of backups.',
  'snapshots:write': 'Creates, renames and restores snapshots, and changes the schedule of backups.',
  'snapshots:delete': 'Deletes snapshots.',
  'data-api:read': 'Shows the Data API of a database.',
  'data-api:write': 'Opens the Data API of a database, and changes its settings.',
  'data-api:delete': 'Closes the Data API of a database.',
  'jwks:read': 'Shows the key sets whose tokens a project accepts.',
  'jwks:write': 'Lets the holders of tokens of another issuer into a project.',
  'jwks:delete': 'Withdraws a key set from a project.',
  'network:read': 'Shows the VPC endpoints of projects and organizations.',
  'network:write': 'Assigns VPC endpoints to projects and organizations.',
  'network:delete': 'Withdraws VPC endpoints.',
  'storage:read': 'Shows buckets, and reads their objects.',
  'storage:write': 'Creates buckets, and signs URLs that read or write an object.',
  'storage:delete': 'Deletes buckets and objects.',
  'functions:read': 'Shows the functions of a branch, their triggers and their domains.',
  'functions:write': 'Changes and deploys functions, their triggers and their domains.',
  'functions:delete': 'Deletes functions, their triggers and their domains.',
  'credentials:read': 'Shows which credentials a branch has issued, without their secrets.',
  'credentials:write': 'Issues credentials of a branch, and replaces their secrets.',
  'credentials:delete': 'Revokes credentials of a branch.',
  'auth:read': 'Shows the auth integrations and their settings.',
  'auth:create': 'Creates auth integrations.',
  'auth:delete': 'Deletes auth integrations.',
  'auth:keys':
    'Issues keys of the auth provider; the holder of such a key can act as every user of the project.',
  'auth:users': 'Creates, changes and deletes users at the auth provider.',
  'auth:providers': 'Manages the OAuth providers of an auth integration.',
  'auth:redirects': 'Manages the domains and the webhook that sign-ins are sent to.',
  'auth:email': 'Changes the e-mail server of an auth integration, and sends test messages.',
  'auth:settings': 'Changes how people sign in at an auth integration.',
  'auth:transfer': 'Gives an auth project away.',
  'secrets:read':
    'Shows the secrets in all answers: passwords of e-mail servers, client secrets, connection strings, credentials.',
  'organization:read': 'Shows organizations, their members and their invitations.',
  'organization:write': 'Invites members, and changes their roles.',
  'organization:delete': 'Removes members.',
  'billing:read': 'Shows the spending limit of an organization.',
  'billing:write': 'Changes or removes the spending limit of an organization.',
  'keys:read': 'Lists the API keys of the account and of organizations, without their secrets.',
  'keys:write': 'Creates API keys of the account and of organizations, which the bridge does not limit.',
  'keys:delete': 'Revokes API keys of the account and of organizations.',
  'users:read': 'Shows the person whose key the bridge uses, and the organizations of this person.',
  'consumption:read': 'Shows what projects and branches have consumed.',
  'regions:read': 'Lists the regions of the service.',
  'commands:freeze':
    'Holds all commands of the account and lets them go on, and withdraws queued commands of others.',
  'commands:approve': 'Approves or denies the calls of others that wait for a person.',
  'alerts:mute': 'Mutes alerts, lifts mutes, and acknowledges incidents.',
  'events:trigger': 'Publishes test events on the bus, with a source of their own.',
  'events:replay': 'Has recorded events published again, to every subscriber.',
  'audit:read': 'Reads the audit of all callers.',
  'accounts:read': 'Lists all accounts of the bridge, whatever account the token belongs to.',
  'accounts:write': 'Adds accounts to the bridge, and pauses, changes and removes any of them.',
} as const satisfies Readonly<Record<string, string>>;

export type Scope = keyof typeof SCOPE_MEANINGS;

/** Lists all scopes, sorted by resource. */
export const SCOPES = Object.keys(SCOPE_MEANINGS) as readonly Scope[];

/**
 * The harm of these scopes is not limited to what the bridge can see, or to the account of the token, or they let one program approve
 * what another one asks for. So no bundle and no wildcard contains them, and each must be granted by its name.
 */
export const SCOPES_BY_NAME: ReadonlySet<Scope> = new Set<Scope>([
  'auth:transfer',
  'projects:transfer',
  'secrets:read',
  'credentials:write',
  'keys:read',
  'keys:write',
  'keys:delete',
  'accounts:read',
  'accounts:write',
  'commands:approve',
]);

export function isScope(name: string): name is Scope {
  return Object.hasOwn(SCOPE_MEANINGS, name);
}

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

export interface Caller {
  /** Commands, events and the audit name the caller by this. */
  readonly client_id: string;
  /** This is the address of a person who signed in at the company's provider. People read it; nothing is allowed by it. */
  readonly email?: string;
  /** The caller can reach this account and no other. */
  readonly account_id: string;
  /**
   * The caller belongs to this life of the account. It is undefined before the account was looked up, for a person or a
   * program to whom the configuration gives the account, whichever life it has.
   */
  readonly generation?: number;
  readonly scopes: ReadonlySet<Scope>;
  /** The caller may see these projects. It is undefined when the caller may see every project of the account. */
  readonly projectIds: ReadonlySet<string> | undefined;
  /**
   * It is true when the token was made while the bridge passed on only the calls of its first edition, and its scopes
   * allow no others.
   */
  readonly isFirstEdition?: true;
  /** The caller's commands wait for locks, and are answered when their operations have ended. */
  readonly settles?: true;
  /** A person must approve the calls that these rules name. */
  readonly approve?: readonly string[];
  /**
   * The caller's credentials end at this time in milliseconds since the epoch, if they say so. A session ends with
   * them.
   */
  readonly endsAtMs?: number;
}

export type Authorization =
  | { readonly kind: 'allowed' }
  /** The answer is a 403 that names the scope, because the caller knows what was asked for. */
  | { readonly kind: 'scope_missing'; readonly scope: Scope }
  /** The answer is a 404, so that unknown and forbidden projects look alike. */
  | { readonly kind: 'project_hidden' };

/** `projectId` is the project that the call is about. It is undefined when the call is about no single project. */
export function authorize(caller: Caller, scope: Scope, projectId: string | undefined): Authorization {
  if (!caller.scopes.has(scope)) return { kind: 'scope_missing', scope };
  if (projectId !== undefined && !maySee(caller, projectId)) return { kind: 'project_hidden' };
  return { kind: 'allowed' };
}

export function maySee({ projectIds }: Caller, projectId: string): boolean {
  return projectIds === undefined || projectIds.has(projectId);
}
