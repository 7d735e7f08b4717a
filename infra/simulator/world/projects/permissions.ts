/** Shares a project with people of other organizations, and takes that back (public contract: permissions). */

import { done, type Outcome, refused } from '../state/outcome.ts';
import type { Permission, ProjectState, WorldProject } from '../state/project-state.ts';

/** A project is shared with 100 people at most, which is our choice. */
const PERMISSIONS_MAX = 100;

export function isSharedWith({ permissions }: Pick<WorldProject, 'permissions'>, email: string): boolean {
  return permissions.some((permission) => permission.email === email && permission.revokedAtMs === undefined);
}

export function grantPermission(
  project: ProjectState,
  { id, email }: Pick<Permission, 'id' | 'email'>,
  nowMs: number,
): Outcome<Permission> {
  if (isSharedWith(project, email)) return refused(409, 'the project is already shared with this person');
  if (project.permissions.length >= PERMISSIONS_MAX)
    return refused(422, `a project can be shared ${PERMISSIONS_MAX} times`);
  const permission = { id, email, grantedAtMs: nowMs, revokedAtMs: undefined };
  project.permissions = [...project.permissions, permission];
  return done(permission);
}

export function revokePermission(project: ProjectState, id: string, nowMs: number): Outcome<Permission> {
  const permission = project.permissions.find((each) => each.id === id && each.revokedAtMs === undefined);
  if (permission === undefined) return refused(404, 'permission not found');
  project.permissions = project.permissions.filter((each) => each !== permission);
  return done({ ...permission, revokedAtMs: nowMs });
}
