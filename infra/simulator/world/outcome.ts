/**
 * Describes what a command of a caller comes to: a value with the operations that it has started, or a refusal with
 * its status and message, for example because operations that run hold the lock of the project.
 */

import type { ProjectState, WorldOperation, WorldProject } from './project-state.ts';

export type Outcome<Value> = { readonly kind: 'done'; readonly value: Value } | Refused;

export interface Refused {
  readonly kind: 'refused';
  readonly status: 400 | 403 | 404 | 406 | 409 | 412 | 422 | 423;
  readonly message: string;
  /** The service names few of its refusals by a code; the code of the others is empty (observed). */
  readonly code?: string;
}

export function done<Value>(value: Value): Outcome<Value> {
  return { kind: 'done', value };
}

export function refused(status: Refused['status'], message: string, code = ''): Refused {
  return { kind: 'refused', status, message, code };
}

/** An operation in one of these statuses holds the project's lock. */
const AT_WORK: ReadonlySet<string> = new Set(['scheduling', 'running', 'cancelling']);

export const LOCKED: Refused = refused(
  423,
  'project already has running conflicting operations, scheduling of new ones is prohibited',
);

export function isLocked({ operations }: Pick<WorldProject, 'operations'>, nowMs: number): boolean {
  return operations.some(({ states, created_us, action }) => {
    if (created_us / 1_000 > nowMs || action === 'check_availability') return false;
    const place = states.findLastIndex(({ at_ms }) => at_ms <= nowMs);
    const status = states[place]?.status ?? 'scheduling';
    // A failed operation holds the lock, too, while it waits for its retry; one that is given up holds nothing.
    return AT_WORK.has(status) || (status === 'failed' && place < states.length - 1);
  });
}

/** The operation that runs first comes first. */
export function operationsStartedBy(project: ProjectState, act: () => void): readonly WorldOperation[] {
  const before = new Set(project.operations);
  act();
  const operations = project.operations.filter((operation) => !before.has(operation));
  const endMs = Math.max(...operations.map(({ states }) => states.at(-1)?.at_ms ?? 0));
  // The simulated users wait for the project's lock as every client does.
  project.nextSessionMs = Math.max(project.nextSessionMs, endMs);
  project.idleFromMs = Math.max(project.idleFromMs, endMs);
  project.operations.sort((a, b) => a.created_us - b.created_us);
  return operations;
}
