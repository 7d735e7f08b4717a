/** What an invocation knows of events that were recorded and are not published yet. */

import type { RelayReport } from '../../../../shared/protocol/relay-records.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';

export interface Leftovers {
  /** An unpublished event was seen since the last pass over the index began. */
  areExpected: boolean;
  /** The last page made progress and the pass goes on: the invocation is needed. */
  areDraining: boolean;
  /** When the oldest entry that the last page held was recorded; undefined: no entry is known to be unpublished. */
  oldestAtMs: number | undefined;
}

/** At the beginning of an invocation, an earlier one may have left anything behind. */
export function leftoversAtStart(): Leftovers {
  return { areExpected: true, areDraining: false, oldestAtMs: undefined };
}

export type RelayCounts = Pick<RelayReport, 'publishedCount' | 'unpublishedCount'>;

export function measureRelay(
  telemetry: Pick<Telemetry, 'measure'>,
  { publishedCount, unpublishedCount }: RelayCounts,
): void {
  telemetry.measure('EventsPublished', publishedCount);
  telemetry.measure('UnpublishedBacklog', unpublishedCount);
}
