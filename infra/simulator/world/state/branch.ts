/** Describes one branch: where it comes from, its state as time passes, its roles and databases (public contract). */

import type { BranchContent } from './branch-content.ts';
import type { Phase } from './phases.ts';

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
    initSource: 'parent-data',
    annotation: {},
    ...known,
  };
}

export function branchPhaseAt({ phases, createdAtMs }: Branch, nowMs: number): Phase<BranchStateName> {
  return phases.findLast(({ atMs }) => atMs <= nowMs) ?? { atMs: createdAtMs, current: 'ready' };
}
