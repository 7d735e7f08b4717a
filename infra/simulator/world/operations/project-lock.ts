/** Decides whether operations that run hold the lock of a project (public contract: 423). */

import type { Refused } from '../state/outcome.ts';
import { refused } from '../state/outcome.ts';
import type { WorldProject } from '../state/project-state.ts';

/** An operation in one of these statuses holds the project's lock. A failed operation waits and holds nothing. */
const AT_WORK: ReadonlySet<string> = new Set(['scheduling', 'running', 'cancelling']);

export const LOCKED: Refused = refused(
  423,
  'project already has running conflicting operations, scheduling of new ones is prohibited',
);

export function isLocked({ operations }: Pick<WorldProject, 'operations'>, nowMs: number): boolean {
  return operations.some(({ states, created_us, action }) => {
    if (created_us / 1_000 > nowMs || action === 'check_availability') return false;
    return AT_WORK.has(states.findLast(({ at_ms }) => at_ms <= nowMs)?.status ?? 'scheduling');
  });
}
