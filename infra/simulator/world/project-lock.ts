/** Decides whether operations hold a project's lock, which refuses every command with 423 (public contract). */

import type { WorldProject } from './project-state.ts';

export const LOCKED =
  'project already has running conflicting operations, scheduling of new ones is prohibited';

/** An operation in one of these statuses holds the project's lock. A failed operation waits and holds nothing. */
const AT_WORK: ReadonlySet<string> = new Set(['scheduling', 'running', 'cancelling']);

export function isLocked({ operations }: Pick<WorldProject, 'operations'>, nowMs: number): boolean {
  return operations.some(({ states, created_us, action }) => {
    if (created_us / 1_000 > nowMs || action === 'check_availability') return false;
    return AT_WORK.has(states.findLast(({ at_ms }) => at_ms <= nowMs)?.status ?? 'scheduling');
  });
}
