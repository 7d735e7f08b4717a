/** Keeps the roles and databases of a branch, and knows how they were at an earlier time. */

import type { Random } from '../../../../shared/runtime/random.ts';
import { drawDatabaseId, drawPassword } from './names.ts';

export interface Role {
  readonly name: string;
  /** A role that cannot log in has no password. */
  readonly password: string | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

export interface Database {
  readonly id: number;
  readonly name: string;
  readonly ownerName: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** A version counts from its time until the next version. */
export interface BranchContent {
  readonly atMs: number;
  readonly roles: readonly Role[];
  readonly databases: readonly Database[];
}

/** The specification does not show the default names, so these are our choice. */
const DEFAULT_DATABASE = 'appdb';
const DEFAULT_ROLE = 'appdb_owner';

/** A branch can be opened at any time of the last 30 days at most (public contract), so older versions are dropped. */
const KEPT_MS = 30 * 24 * 3_600_000;

export function firstContent(
  random: Random,
  { atMs, roleName = DEFAULT_ROLE, databaseName = DEFAULT_DATABASE }: FirstContentOptions,
): BranchContent {
  const times = { createdAtMs: atMs, updatedAtMs: atMs };
  const role = { name: roleName, password: drawPassword(random), ...times };
  const database = { id: drawDatabaseId(random), name: databaseName, ownerName: roleName, ...times };
  return { atMs, roles: [role], databases: [database] };
}

interface FirstContentOptions {
  readonly atMs: number;
  readonly roleName?: string | undefined;
  readonly databaseName?: string | undefined;
}

/** Returns the version of a time; a time before the first version gives the first one. */
export function contentAt(contents: readonly BranchContent[], atMs: number): BranchContent {
  const content = contents.findLast((version) => version.atMs <= atMs) ?? contents[0];
  return content ?? { atMs, roles: [], databases: [] };
}

export function enterContent(contents: BranchContent[], next: BranchContent): void {
  contents.push(next);
  const oldest = contents.findLastIndex(({ atMs }) => atMs <= next.atMs - KEPT_MS);
  if (oldest > 0) contents.splice(0, oldest);
}
