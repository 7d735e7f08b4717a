/** What the upstream really has and had: the only source of what is true for the checker. */

import type { TruthOperation, TruthState } from '../../upstream-model.ts';
import { stateAt } from '../../upstream-model.ts';

/** A stretch of time in which something holds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface WideOperation extends TruthOperation {
  /** Its row cannot be parsed before; 0: it always could. */
  readonly malformedUntilMs: number;
}

export interface TruthProject {
  readonly id: string;
  /** As its row says: also of a project that was somebody else's until it was transferred. */
  readonly createdMs: number;
  /** When the key can see it. */
  readonly visible: readonly Span[];
  /** When the list names it as unavailable, and gives no row. */
  readonly unavailable: readonly Span[];
  /** When its row in the list cannot be parsed. */
  readonly malformed: readonly Span[];
  /** When its operations answer 500. */
  readonly failing: readonly Span[];
  readonly isUnordered: boolean;
  /** Newest first; operations of commands are added while the run goes on. */
  readonly operations: WideOperation[];
}

export interface Truth {
  readonly projects: readonly TruthProject[];
  projectOf(id: string): TruthProject | undefined;
  operationOf(id: string): WideOperation | undefined;
  add(operation: WideOperation): void;
  operations(): readonly WideOperation[];
}

export function createTruth(projects: readonly TruthProject[]): Truth {
  const byId = new Map(projects.map((project) => [project.id, project]));
  const operations = new Map(
    projects.flatMap(({ operations: own }) => own.map((op) => [op.id, op] as const)),
  );
  return {
    projects,
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

/** It had come to an end before that time, and nothing happened to it since. */
export function wasOverBefore(operation: WideOperation, atMs: number): boolean {
  const then = stateAt(operation, atMs);
  return then !== undefined && then === lastStateOf(operation) && isOver(then);
}
