/** Creates roles, deletes them, and gives them new passwords (public contract). */

import { contentAt, type Role } from '../state/branch-content.ts';
import { drawPassword } from '../state/names.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import { type ContentChange, type ContentPlace, changeContent } from './change-content.ts';

export function findRole({ branch, nowMs }: ContentPlace, name: string): Role | undefined {
  return contentAt(branch.contents, nowMs).roles.find((role) => role.name === name);
}

export function createRole(
  place: ContentPlace,
  { name, canLogIn }: { readonly name: string; readonly canLogIn: boolean },
): Outcome<ContentChange<Role>> {
  if (name.startsWith('pg_'))
    return refused(400, 'invalid request: Postgres reserves names that begin with pg_');
  if (findRole(place, name) !== undefined) return refused(409, 'role already exists');
  const { project, nowMs } = place;
  const password = canLogIn ? drawPassword(project.contentDice) : undefined;
  const role = { name, password, createdAtMs: nowMs, updatedAtMs: nowMs };
  return changeContent(place, role, ({ roles }) => ({ roles: [...roles, role] }));
}

/** A role that does not exist is already deleted (public contract: 204). */
export function deleteRole(
  place: ContentPlace,
  name: string,
): Outcome<ContentChange<Role> | 'already_deleted'> {
  const role = findRole(place, name);
  if (role === undefined) return done('already_deleted');
  const { databases } = contentAt(place.branch.contents, place.nowMs);
  if (databases.some(({ ownerName }) => ownerName === name))
    return refused(422, 'a role that owns databases cannot be deleted');
  return changeContent(place, role, ({ roles }) => ({ roles: roles.filter((each) => each !== role) }));
}

export function resetPassword(place: ContentPlace, name: string): Outcome<ContentChange<Role>> {
  const role = findRole(place, name);
  if (role === undefined) return refused(404, 'role not found');
  if (role.password === undefined) return refused(412, 'the role cannot log in and has no password');
  const next = { ...role, password: drawPassword(place.project.contentDice), updatedAtMs: place.nowMs };
  return changeContent(place, next, ({ roles }) => ({
    roles: roles.map((each) => (each === role ? next : each)),
  }));
}

/** A project that does not store passwords cannot reveal them (public contract: 412). */
export function revealPassword(place: ContentPlace, name: string): Outcome<string> {
  const role = findRole(place, name);
  if (role === undefined) return refused(404, 'role not found');
  if (!place.project.settings.storesPasswords) return refused(412, 'the project does not store passwords');
  return role.password === undefined
    ? refused(412, 'the role cannot log in and has no password')
    : done(role.password);
}
