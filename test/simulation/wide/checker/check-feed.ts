/** Checks that a consumer that reads the feed all the time has got every event that the bus has. */

import type { Violation } from '../../check-history.ts';
import type { Evidence, ToldEvent } from './evidence.ts';

const FAILURES_OF_THE_TABLE = /^(ProvisionedThroughputExceededException|TimeoutError)/;

/** Events of the last twelve hours may not have been read yet. */
const READ_WITHIN_MS = 12 * 3_600_000;

export function checkFeed({ stage, events }: Evidence): readonly Violation[] {
  const { fed, feedFailures, timeline, restores } = stage;
  // After a restore an event comes again under its old id at another time: its first copy may have been read before.
  if (restores.length > 0) return failures(feedFailures);
  const missed = events
    .filter(({ atMs, by }) => by !== 'parked' && atMs < timeline.endMs - READ_WITHIN_MS)
    .filter(({ event }) => !fed.has(event.id))
    // The feed goes on without an item that it cannot read.
    .filter(({ event }) => ![...stage.unreadable].some((key) => isOf(key, event)))
    .map(({ event, detailType }) => ({
      rule: 'feed-missed',
      operation_id: event.operation_id ?? '',
      detail: detailType,
    }));
  return [...missed, ...failures(feedFailures)];
}

function failures(feedFailures: readonly string[]): readonly Violation[] {
  return feedFailures
    .filter((failure) => !FAILURES_OF_THE_TABLE.test(failure))
    .slice(0, 1)
    .map((detail) => ({ rule: 'feed-failed', operation_id: '', detail }));
}

function isOf(key: string, { project_id, operation_id, command }: ToldEvent): boolean {
  return (
    key.endsWith(`#${project_id} PROJECT`) ||
    key.endsWith(`#${operation_id}`) ||
    key.endsWith(`#${command?.request_id}`)
  );
}
