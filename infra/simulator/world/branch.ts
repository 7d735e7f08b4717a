/**
 * Describes one branch (public contract): where it comes from, its state as time passes, the roles and databases that
 * it has now and had earlier, and its history, in which times and log sequence numbers (LSN) name the same points.
 */

import type { Random } from '../../../shared/runtime/random.ts';
import type { Phase } from './compute.ts';
import { drawDatabaseId, drawPassword } from './names.ts';

export type BranchStateName = 'init' | 'ready' | 'archived' | 'resetting';

/** A branch begins at this point in the history of its parent. */
interface BranchOrigin {
  readonly branchId: string;
  /** The unit is milliseconds since the epoch. */
  readonly atMs: number;
  /** The value is true when the caller named a time, which the service then shows. */
  readonly isTimeShown: boolean;
}

/** The service deletes the branch at `atMs`. Both times are milliseconds since the epoch. */
interface BranchExpiry {
  readonly setAtMs: number;
  readonly atMs: number;
}

interface BranchRestore {
  readonly snapshotId: string;
  readonly targetId: string;
  readonly isFinal: boolean;
}

export interface Branch {
  readonly id: string;
  name: string;
  /** A root branch has no origin. */
  origin: BranchOrigin | undefined;
  readonly createdAtMs: number;
  updatedAtMs: number;
  readonly phases: Phase<BranchStateName>[];
  /** Each change of roles or databases adds a version; the oldest comes first. */
  readonly contents: BranchContent[];
  isProtected: boolean;
  /**
   * The simulated users choose their branches by this. It is true from the end of `timeline_archive` on, even when
   * that operation is stuck.
   */
  isArchived: boolean;
  expiry: BranchExpiry | undefined;
  lastResetAtMs: number | undefined;
  /** The branch was made of a snapshot, for the place of another one, which it takes once. */
  restored: BranchRestore | undefined;
  /** A branch with the schema of its parent has none of its rows. */
  readonly initSource: 'parent-data' | 'schema-only';
  readonly annotation: Readonly<Record<string, unknown>>;
}

export function createBranchState(
  known: Pick<Branch, 'id' | 'createdAtMs'> & Partial<Branch>,
  content: BranchContent,
): Branch {
  return {
    name: known.id,
    origin: undefined,
    updatedAtMs: known.createdAtMs,
    phases: [],
    contents: [content],
    isProtected: false,
    isArchived: false,
    expiry: undefined,
    lastResetAtMs: undefined,
    restored: undefined,
    initSource: 'parent-data',
    annotation: {},
    ...known,
  };
}

export function branchPhaseAt({ phases, createdAtMs }: Branch, nowMs: number): Phase<BranchStateName> {
  return phases.findLast(({ atMs }) => atMs <= nowMs) ?? { atMs: createdAtMs, current: 'ready' };
}

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

/** The specification does not show the default names; these are those of the public contract. */
export const DEFAULT_DATABASE = 'neondb';
const DEFAULT_ROLE = 'neondb_owner';

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

/** Postgres writes this much before the first connection. */
const FIRST_BYTE = 0x15_00_000;

/** Returns the form of Postgres: two hexadecimal numbers of 32 bits. */
export function lsnAt(projectCreatedAtMs: number, atMs: number): string {
  const byte = FIRST_BYTE + Math.max(0, Math.floor(atMs - projectCreatedAtMs));
  const high = Math.floor(byte / 2 ** 32);
  return `${high.toString(16).toUpperCase()}/${(byte % 2 ** 32).toString(16).toUpperCase()}`;
}

/** Returns milliseconds since the epoch, or undefined when the text is no LSN. */
export function msOfLsn(projectCreatedAtMs: number, lsn: string): number | undefined {
  const match = /^([0-9A-Fa-f]{1,8})\/([0-9A-Fa-f]{1,8})$/.exec(lsn);
  if (match === null) return undefined;
  const byte = Number.parseInt(match[1] ?? '', 16) * 2 ** 32 + Number.parseInt(match[2] ?? '', 16);
  return projectCreatedAtMs + byte - FIRST_BYTE;
}
