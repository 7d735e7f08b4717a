/** Keeps what an invocation knows of events that were recorded and are not published yet. */

import type { RelayReport } from '../../../../shared/protocol/relay-records.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';

export interface Leftovers {
  /** It is true when an unpublished event was seen since the last pass over the index began. */
  areExpected: boolean;
  /**
   * It is true until the first page of the index was dealt with, and while a pass goes on whose last page made progress. The invocation is
   * needed then.
   */
  areDraining: boolean;
  /**
   * The oldest entry that the last page held was recorded at this time. It is undefined when no entry is known to be
   * unpublished.
   */
  oldestAtMs: number | undefined;
}

/** Returns the state at the beginning of an invocation: an earlier one may have left anything behind. */
export function leftoversAtStart(): Leftovers {
  return { areExpected: true, areDraining: true, oldestAtMs: undefined };
}

export type RelayCounts = Pick<RelayReport, 'publishedCount' | 'unpublishedCount'>;

export function measureRelay(telemetry: Telemetry, { publishedCount, unpublishedCount }: RelayCounts): void {
  telemetry.measure('EventsPublished', publishedCount);
  telemetry.measure('UnpublishedBacklog', unpublishedCount);
}
