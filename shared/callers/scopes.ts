/**
 * Lists the scopes of callers, each with a sentence on what it allows. Each call needs one, chosen by the harm that
 * the call can do.
 */

export const SCOPE_MEANINGS = {
  'projects:read': 'Lists projects, and shows their settings, their permissions and the advice for them.',
  'projects:write': 'Creates, changes and recovers projects.',
  'projects:delete': 'Deletes projects.',
  'projects:share': 'Lets other people of the service use a project, and withdraws that.',
  'projects:transfer': 'Gives projects to another person or organization.',
  'operations:read': 'Shows operations, their history and their events.',
  'operations:repair':
    'Has the operations of a project compared with the upstream; what is missing is recorded and published.',
  'branches:read': 'Shows branches, their schemas and their masking rules.',
  'branches:write': 'Creates, changes, restores and anonymizes branches.',
  'branches:delete': 'Deletes branches.',
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
  'functions:read': 'Shows the functions of a branch.',
  'functions:write': 'Changes and deploys functions.',
  'functions:delete': 'Deletes functions.',
  'credentials:read': 'Shows which credentials a branch has issued, without their secrets.',
  'credentials:write': 'Issues credentials of a branch.',
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
    'Shows the secrets in all answers: passwords of e-mail servers, client secrets, connection strings.',
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
 * The harm of these scopes is not limited to what the bridge can see, or to the account of the token, so no bundle and no wildcard contains them, and
 * each must be granted by its name.
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
]);

export function isScope(name: string): name is Scope {
  return Object.hasOwn(SCOPE_MEANINGS, name);
}
