/** A consumer that reads the feed all the time has got every event that the bus has. */

import type { Violation } from '../../check-history.ts';
import type { Evidence } from './evidence.ts';

const FAILURES_OF_THE_TABLE = /^(ProvisionedThroughputExceededException|TimeoutError)/;

/** What was told in the last minutes may not have been read yet. */
const READ_WITHIN_MS = 12 * 3_600_000;

export function checkFeed({ stage, events }: Evidence): readonly Violation[] {
  const { fed, feedFailures, timeline, restores } = stage;
  const restoredMs = restores.at(-1)?.atMs ?? 0;
  const missed = events
    .filter(({ atMs, by }) => by !== 'parked' && atMs > restoredMs && atMs < timeline.endMs - READ_WITHIN_MS)
    .filter(({ event }) => !fed.has(event.id))
    .map(({ event, detailType }) => ({
      rule: 'feed-missed',
      operation_id: event.operation_id ?? '',
      detail: detailType,
    }));
  const failed = feedFailures
    .filter((failure) => !FAILURES_OF_THE_TABLE.test(failure))
    .map((detail) => ({ rule: 'feed-failed', operation_id: '', detail }));
  return [...missed, ...failed.slice(0, 1)];
}
