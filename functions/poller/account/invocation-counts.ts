/** Counts what one invocation has done so far. */

import type { RelayReport } from '../../../shared/protocol/relay-records.ts';

export interface InvocationCounts {
  pollCount: number;
  recordedCount: number;
  /** The bus has accepted this many events. */
  publishedCount: number;
}

export function noCounts(): InvocationCounts {
  return { pollCount: 0, recordedCount: 0, publishedCount: 0 };
}

export function countPoll(
  counts: InvocationCounts,
  poll: { readonly recordedCount: number; readonly relay: Pick<RelayReport, 'publishedCount'> },
): void {
  counts.pollCount += 1;
  counts.recordedCount += poll.recordedCount;
  counts.publishedCount += poll.relay.publishedCount;
}
