/**
 * Handles the calls about what a branch contains (public contract): its databases, its roles with their passwords, and the
 * connection strings of Postgres for its computes.
 */

import * as z from 'zod';
import { type Branch, contentAt, type Database, type Role } from '../world/branch.ts';
import type { Compute } from '../world/compute.ts';
import * as commands from '../world/database-commands.ts';
import { type ContentChange, type ContentPlace, findDatabase, findRole } from '../world/database-commands.ts';
import type { Outcome } from '../world/outcome.ts';
import { type ProjectState, proxyHostOf, type WorldProject } from '../world/project-state.ts';
import {
  type Handlers,
  inBranch,
  inProject,
  refusal,
  refuse,
  type UpstreamContext,
  withBody,
  withQuery,
} from './requests.ts';
import { startedRows, wholeSeconds } from './rows.ts';

/** Postgres cuts longer names (its `NAMEDATALEN` is 64 bytes with the end mark). */
const NAME_BYTES_MAX = 63;

export const postgresName = z
  .string()
  .min(1)
  .refine((name) => Buffer.byteLength(name) <= NAME_BYTES_MAX, `must have at most ${NAME_BYTES_MAX} bytes`);

const createDatabaseBody = z.object({ database: z.object({ name: postgresName, owner_name: postgresName }) });
const updateBody = z.object({
  database: z.object({ name: postgresName.optional(), owner_name: postgresName.optional() }),
});

export const databaseHandlers: Handlers = {
  listDatabases: (c) =>
    inBranch(c, ({ branch, nowMs }) => {
      const { databases } = contentAt(branch.contents, nowMs);
      return c.json({ databases: databases.map((database) => databaseRow(branch.id, database)) });
    }),
  getDatabase: (c) =>
    inBranch(c, (place) => {
      const database = findDatabase(place, databaseNameOf(c));
      if (database === undefined) return refusal(c, 404, 'database not found');
      return c.json({ database: databaseRow(place.branch.id, database) });
    }),
  createDatabase: withBody(createDatabaseBody, (c, { database: { name, owner_name: ownerName } }) =>
    actOnDatabase(c, (place) => commands.createDatabase(place, { name, ownerName }), 201),
  ),
  updateDatabase: withBody(updateBody, (c, { database: { name, owner_name: ownerName } }) =>
    actOnDatabase(c, (place) => commands.updateDatabase(place, databaseNameOf(c), { name, ownerName })),
  ),
  deleteDatabase: (c) => actOnDatabase(c, (place) => commands.deleteDatabase(place, databaseNameOf(c))),
};

function actOnDatabase(
  c: UpstreamContext,
  command: (place: ContentPlace) => Outcome<ContentChange<Database> | 'already_deleted'>,
  status: 200 | 201 = 200,
): Response {
  return inBranch(c, (place) => {
    const outcome = command(place);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    if (outcome.value === 'already_deleted') return c.body(null, 204);
    const { item, operations } = outcome.value;
    const database = databaseRow(place.branch.id, item);
    return c.json({ database, operations: startedRows(operations, place.nowMs) }, status);
  });
}

function databaseNameOf(c: UpstreamContext): string {
  return c.req.param('database_name') ?? '';
}

const createRoleBody = z.object({ role: z.object({ name: postgresName, no_login: z.boolean().optional() }) });

export const roleHandlers: Handlers = {
  listRoles: (c) =>
    inBranch(c, ({ branch, nowMs }) => {
      const { roles } = contentAt(branch.contents, nowMs);
      return c.json({ roles: roles.map((role) => roleRow(branch.id, role)) });
    }),
  getRole: (c) =>
    inBranch(c, (place) => {
      const role = findRole(place, roleNameOf(c));
      if (role === undefined) return refusal(c, 404, 'role not found');
      return c.json({ role: roleRow(place.branch.id, role) });
    }),
  revealPassword: (c) =>
    inBranch(c, (place) => {
      const outcome = commands.revealPassword(place, roleNameOf(c));
      return outcome.kind === 'refused' ? refuse(c, outcome) : c.json({ password: outcome.value });
    }),
  createRole: withBody(createRoleBody, (c, { role: { name, no_login = false } }) =>
    actOnRole(c, (place) => commands.createRole(place, { name, canLogIn: !no_login }), {
      status: 201,
      showsPassword: true,
    }),
  ),
  resetPassword: (c) =>
    actOnRole(c, (place) => commands.resetPassword(place, roleNameOf(c)), {
      status: 200,
      showsPassword: true,
    }),
  deleteRole: (c) =>
    actOnRole(c, (place) => commands.deleteRole(place, roleNameOf(c)), { status: 200, showsPassword: false }),
};

function actOnRole(
  c: UpstreamContext,
  command: (place: ContentPlace) => Outcome<ContentChange<Role> | 'already_deleted'>,
  { status, showsPassword }: { readonly status: 200 | 201; readonly showsPassword: boolean },
): Response {
  return inBranch(c, (place) => {
    const outcome = command(place);
    if (outcome.kind === 'refused') return refuse(c, outcome);
    if (outcome.value === 'already_deleted') return c.body(null, 204);
    const { item, operations } = outcome.value;
    const role = roleRow(place.branch.id, item, showsPassword);
    return c.json({ role, operations: startedRows(operations, place.nowMs) }, status);
  });
}

function roleNameOf(c: UpstreamContext): string {
  return c.req.param('role_name') ?? '';
}

/** Only the calls that create a role or reset its password show the password. */
function roleRow(branchId: string, role: Role, showsPassword = false): Record<string, unknown> {
  return {
    branch_id: branchId,
    name: role.name,
    ...(showsPassword && role.password !== undefined && { password: role.password }),
    protected: false,
    authentication_method: role.password === undefined ? 'no_login' : 'password',
    created_at: wholeSeconds(role.createdAtMs),
    updated_at: wholeSeconds(role.updatedAtMs),
  };
}

function databaseRow(branchId: string, database: Database): Record<string, unknown> {
  return {
    id: database.id,
    branch_id: branchId,
    name: database.name,
    owner_name: database.ownerName,
    created_at: wholeSeconds(database.createdAtMs),
    updated_at: wholeSeconds(database.updatedAtMs),
  };
}

/** The answer to the creation of a project or a branch shows all that it contains. */
export function contentRows(project: WorldProject, branch: Branch, nowMs: number): object {
  const { roles, databases } = contentAt(branch.contents, nowMs);
  const connection_uris = connectionRows(project, branch, nowMs);
  return {
    roles: roles.map((role) => roleRow(branch.id, role, true)),
    databases: databases.map((database) => databaseRow(branch.id, database)),
    ...(connection_uris.length > 0 && { connection_uris }),
  };
}

const query = z.object({
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  database_name: z.string({ error: 'field required' }),
  role_name: z.string({ error: 'field required' }),
  pooled: z.enum(['true', 'false']).optional(),
});

export const connectionHandlers: Handlers = {
  getConnectionUri: withQuery(query, (c, named) =>
    inProject(c, (project, nowMs) => connect(c, { project, nowMs }, named)),
  ),
};

/** The default branch and its read-write compute stand in for what the query leaves out (public contract). */
function connect(
  c: UpstreamContext,
  { project, nowMs }: { readonly project: ProjectState; readonly nowMs: number },
  named: z.output<typeof query>,
): Response {
  const byId = project.computes.find(({ endpoint_id }) => endpoint_id === named.endpoint_id);
  const branchId = named.branch_id ?? byId?.branch_id ?? project.defaultBranchId;
  const branch = project.branches.get(branchId);
  if (branch === undefined) return refusal(c, 404, 'branch not found');
  const compute = project.computes.find(
    ({ branch_id, endpoint_id, config }) =>
      branch_id === branchId &&
      (named.endpoint_id === undefined ? config.type === 'read_write' : endpoint_id === named.endpoint_id),
  );
  if (compute === undefined) return refusal(c, 404, 'endpoint not found');
  const place = { project, branch, nowMs };
  const role = findRole(place, named.role_name);
  if (role === undefined) return refusal(c, 404, 'role not found');
  if (findDatabase(place, named.database_name) === undefined) return refusal(c, 404, 'database not found');
  const host = hostOf(project, compute, named.pooled === 'true');
  return c.json({ uri: connectionUri(host, role, named.database_name) });
}

/** The proxy pools the connections that name the compute with this suffix (observed). */
const POOLER_SUFFIX = '-pooler';

export function hostOf({ settings }: WorldProject, { endpoint_id }: Compute, isPooled = false): string {
  return `${endpoint_id}${isPooled ? POOLER_SUFFIX : ''}.${proxyHostOf(settings)}`;
}

/** The parameters are as observed: connections are encrypted and bound to their channel. */
function connectionUri(host: string, role: Role, databaseName: string): string {
  const user = `${encodeURIComponent(role.name)}:${encodeURIComponent(role.password ?? '')}`;
  const path = encodeURIComponent(databaseName);
  return `postgresql://${user}@${host}/${path}?sslmode=require&channel_binding=require`;
}

/** Shows one connection for each database: as its owner, to the primary compute. */
function connectionRows(project: WorldProject, branch: Branch, nowMs: number): readonly object[] {
  const { roles, databases } = contentAt(branch.contents, nowMs);
  const compute = project.computes.find(
    ({ branch_id, config }) => branch_id === branch.id && config.type === 'read_write',
  );
  if (compute === undefined) return [];
  return databases.flatMap(({ name, ownerName }) => {
    const role = roles.find((each) => each.name === ownerName);
    if (role?.password === undefined) return [];
    const host = hostOf(project, compute);
    const connection_parameters = {
      database: name,
      password: role.password,
      role: role.name,
      host,
      pooler_host: hostOf(project, compute, true),
    };
    return [{ connection_uri: connectionUri(host, role, name), connection_parameters }];
  });
}
