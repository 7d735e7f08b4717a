/** Shows roles and databases as the service does (public contract). */

import type { Branch } from '../../world/state/branch.ts';
import { contentAt, type Database, type Role } from '../../world/state/branch-content.ts';
import type { WorldProject } from '../../world/state/project-state.ts';
import { wholeSeconds } from '../rows.ts';
import { connectionRows } from './connection.ts';

/** Only the calls that create a role or reset its password show the password. */
export function roleRow(branchId: string, role: Role, showsPassword = false): Record<string, unknown> {
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

export function databaseRow(branchId: string, database: Database): Record<string, unknown> {
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
