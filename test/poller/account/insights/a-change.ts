/** Builds what a recorded transition adds to the counts of its hour. */

import type { CountedChange, UtcHour } from '../../../../shared/insights/hour-counts.ts';

/** At noon, this hour has just ended. */
export const LAST_HOUR = '2026-01-15T11' as UtcHour;
export const THIS_HOUR = '2026-01-15T12' as UtcHour;

export function aChange(fields: Partial<CountedChange> = {}): CountedChange {
  return {
    hour: LAST_HOUR,
    projectId: 'quiet-pond-12345678',
    operationId: 'op-1',
    startedCount: 0,
    failedCount: 1,
    ...fields,
  };
}
