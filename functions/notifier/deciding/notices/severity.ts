/** Compares severities. */

import type { Notice, Severity } from './notice.ts';

/** From the third failure on, two retries of the upstream have failed, and the operation needs a person. */
const ESCALATION_FAILURES_COUNT = 3;

/** Returns whether the operation has failed three times or more, which people are notified of however it goes on. */
export function isEscalated({ failures_count = 0 }: Pick<Notice, 'failures_count'>): boolean {
  return failures_count >= ESCALATION_FAILURES_COUNT;
}

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
