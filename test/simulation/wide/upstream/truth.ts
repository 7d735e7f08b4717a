/** Holds what the upstream really has and had. The checker has no other source of the truth. */

import type { TruthOperation, TruthState } from '../../upstream-model.ts';
import { stateAt } from '../../upstream-model.ts';

/** Something holds from `fromMs` on and until just before `toMs`. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface WideOperation extends TruthOperation {
  /** Until this time its row cannot be parsed. It is 0 when the row always can. */
  readonly malformedUntilMs: number;
  /** Its row shows a creation time that is wrong by this much. */
  readonly shiftedMs?: number;
  /** Its row shows no creation time. */
  readonly hasNoTime?: boolean;
  /** Its row has this text of an error. */
  readonly text?: string;
  /** No reading of it alone is ever answered with it. */
  readonly readingIs?: 'refused' | 'hangs';
}

export interface TruthProject {
  readonly id: string;
  /**
   * Holds the creation time in its row, also for a project that belonged to another account until it was transferred.
   */
  readonly createdMs: number;
  /** Lists the spans in which the key can see the project. */
  readonly visible: readonly Span[];
  /** Lists the spans in which the list names it as unavailable and has no row for it. */
  readonly unavailable: readonly Span[];
  /** Lists the spans in which its row in the list cannot be parsed. */
  readonly malformed: readonly Span[];
  /** Lists the spans in which requests for its operations are answered with 500. */
  readonly failing: readonly Span[];
  /** Lists the spans in which requests for its operations are answered with 404, although the project is there. */
  readonly notFound: readonly Span[];
  /** Every page of its operations behind this cursor is answered with 500, for ever. */
  readonly failingBelowUs?: number | undefined;
  /** The newest operation comes first. Operations of commands are added during the run. */
  readonly operations: WideOperation[];
}

export interface Truth {
  readonly projects: readonly TruthProject[];
  /** Lists the spans in which every page of the project list behind the first one is answered with 500. */
  readonly listFailing: readonly Span[];
  projectOf(id: string): TruthProject | undefined;
  operationOf(id: string): WideOperation | undefined;
  add(operation: WideOperation): void;
  operations(): readonly WideOperation[];
}

export function createTruth(projects: readonly TruthProject[], listFailing: readonly Span[] = []): Truth {
  const byId = new Map(projects.map((project) => [project.id, project]));
  const operations = new Map(
    projects.flatMap(({ operations: own }) => own.map((op) => [op.id, op] as const)),
  );
  return {
    projects,
    listFailing,
    projectOf: (id) => byId.get(id),
    operationOf: (id) => operations.get(id),
    add(operation) {
      operations.set(operation.id, operation);
      const own = byId.get(operation.project_id)?.operations;
      own?.push(operation);
      own?.sort(newestFirst);
    },
    operations: () => [...operations.values()],
  };
}

export function newestFirst(a: WideOperation, b: WideOperation): number {
  return b.createdUs - a.createdUs || (a.id < b.id ? 1 : -1);
}

export function isWithin(spans: readonly Span[], atMs: number): boolean {
  return spans.some(({ fromMs, toMs }) => fromMs <= atMs && atMs < toMs);
}

export function isThere(operation: WideOperation, atMs: number): boolean {
  return operation.visibleAtMs <= atMs && atMs < operation.vanishesAtMs;
}

const TERMINAL: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);

export function isOver({ status }: { readonly status: string }): boolean {
  return TERMINAL.has(status);
}

export function lastStateOf(operation: WideOperation): TruthState | undefined {
  return operation.states.at(-1);
}

/** Returns true when the operation had ended before that time and has not changed since. */
export function wasOverBefore(operation: WideOperation, atMs: number): boolean {
  const then = stateAt(operation, atMs);
  return then !== undefined && then === lastStateOf(operation) && isOver(then);
}
