/** Compares severities. */

import type { Notice, Severity } from './notice.ts';

const RANK: Record<Severity, number> = { info: 0, warning: 1, critical: 2 };

/** Returns a number that is higher for a more severe notice. */
export function rankOf(severity: Severity): number {
  return RANK[severity];
}

export function isAtLeast(severity: Severity, least: Severity): boolean {
  return RANK[severity] >= RANK[least];
}

export function worstOf(notices: readonly Notice[]): Severity {
  return notices.reduce<Severity>(
    (worst, { severity }) => (RANK[severity] > RANK[worst] ? severity : worst),
    'info',
  );
}
