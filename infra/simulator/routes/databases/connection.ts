/** Builds connection strings of Postgres for the computes of a branch. */

import type { Branch } from '../../world/state/branch.ts';
import { contentAt, type Role } from '../../world/state/branch-content.ts';
import type { Compute } from '../../world/state/compute.ts';
import { proxyHostOf } from '../../world/state/project-settings.ts';
import type { WorldProject } from '../../world/state/project-state.ts';

/** The proxy pools the connections that name the compute with this suffix (observed). */
const POOLER_SUFFIX = '-pooler';

export function hostOf({ settings }: WorldProject, { endpoint_id }: Compute, isPooled = false): string {
  return `${endpoint_id}${isPooled ? POOLER_SUFFIX : ''}.${proxyHostOf(settings)}`;
}

/** The parameters are as observed: connections are encrypted and bound to their channel. */
export function connectionUri(host: string, role: Role, databaseName: string): string {
  const user = `${encodeURIComponent(role.name)}:${encodeURIComponent(role.password ?? '')}`;
  const path = encodeURIComponent(databaseName);
  return `postgresql://${user}@${host}/${path}?sslmode=require&channel_binding=require`;
}

/** Shows one connection for each database: as its owner, to the primary compute. */
export function connectionRows(project: WorldProject, branch: Branch, nowMs: number): readonly object[] {
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
