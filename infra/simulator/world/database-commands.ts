/**
 * Defines what users can do with the databases and roles of a branch (public contract); its compute applies each
 * change to Postgres.
 */

import {
  type Branch,
  type BranchContent,
  branchPhaseAt,
  contentAt,
  type Database,
  enterContent,
  type Role,
} from './branch.ts';
import { primaryOf } from './compute-commands.ts';
import { runConfig } from './compute-life.ts';
import { drawDatabaseId, drawPassword } from './names.ts';
import { done, isLocked, LOCKED, type Outcome, operationsStartedBy, refused } from './outcome.ts';
import type { ProjectState, WorldOperation } from './project-state.ts';

export function findDatabase({ branch, nowMs }: ContentPlace, name: string): Database | undefined {
  return contentAt(branch.contents, nowMs).databases.find((database) => database.name === name);
}

export function createDatabase(
  place: ContentPlace,
  { name, ownerName }: Pick<Database, 'name' | 'ownerName'>,
): Outcome<ContentChange<Database>> {
  if (findRole(place, ownerName) === undefined) return refused(404, 'role not found');
  if (findDatabase(place, name) !== undefined) return refused(409, 'database already exists');
  const { project, nowMs } = place;
  const id = drawDatabaseId(project.contentDice);
  const database = { id, name, ownerName, createdAtMs: nowMs, updatedAtMs: nowMs };
  return changeContent(place, database, ({ databases }) => ({ databases: [...databases, database] }));
}

export function updateDatabase(
  place: ContentPlace,
  databaseName: string,
  change: { readonly name?: string | undefined; readonly ownerName?: string | undefined },
): Outcome<ContentChange<Database>> {
  const database = findDatabase(place, databaseName);
  if (database === undefined) return refused(404, 'database not found');
  const { name = database.name, ownerName = database.ownerName } = change;
  if (findRole(place, ownerName) === undefined) return refused(404, 'role not found');
  if (name !== databaseName && findDatabase(place, name) !== undefined)
    return refused(409, 'database already exists');
  const next = { ...database, name, ownerName, updatedAtMs: place.nowMs };
  return changeContent(place, next, ({ databases }) => ({
    databases: databases.map((each) => (each === database ? next : each)),
  }));
}

/** A database that does not exist is already deleted (public contract: 204). */
export function deleteDatabase(
  place: ContentPlace,
  name: string,
): Outcome<ContentChange<Database> | 'already_deleted'> {
  const database = findDatabase(place, name);
  if (database === undefined) return done('already_deleted');
  return changeContent(place, database, ({ databases }) => ({
    databases: databases.filter((each) => each !== database),
  }));
}

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

/** This is where a command acts, and when. */
export interface ContentPlace {
  readonly project: ProjectState;
  readonly branch: Branch;
  /** The unit is milliseconds since the epoch. */
  readonly nowMs: number;
}

export interface ContentChange<Item> {
  readonly item: Item;
  readonly operations: readonly WorldOperation[];
}

/** Reads of the API show the change at once, and Postgres has it from the end of `apply_config` on. */
function changeContent<Item>(
  { project, branch, nowMs }: ContentPlace,
  item: Item,
  change: (content: BranchContent) => Partial<BranchContent>,
): Outcome<ContentChange<Item>> {
  const compute = primaryOf(project, branch.id);
  if (compute === undefined) return refused(422, 'the branch has no read_write endpoint');
  if (isLocked(project, nowMs)) return LOCKED;
  if (branchPhaseAt(branch, nowMs).current === 'init') return refused(422, 'branch not ready yet');
  const content = contentAt(branch.contents, nowMs);
  enterContent(branch.contents, { ...content, ...change(content), atMs: nowMs });
  const operations = operationsStartedBy(project, () =>
    runConfig(project, { compute, atMs: nowMs, byCommand: true }),
  );
  return done({ item, operations });
}
