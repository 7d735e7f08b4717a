/** Creates databases, renames them, gives them other owners, and deletes them (public contract). */

import { contentAt, type Database } from '../state/branch-content.ts';
import { drawDatabaseId } from '../state/names.ts';
import { done, type Outcome, refused } from '../state/outcome.ts';
import { type ContentChange, type ContentPlace, changeContent } from './change-content.ts';
import { findRole } from './role-commands.ts';

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
