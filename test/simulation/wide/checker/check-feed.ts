/** Checks that a consumer that reads the feed all the time has got every event that the bus has. */

import type { Violation } from '../../check-history.ts';
import { MINUTE_MS } from '../plan.ts';
import type { Stage } from '../stage.ts';
import type { Evidence, Told, ToldEvent } from './evidence.ts';

const FAILURES_OF_THE_TABLE =
  /^(ProvisionedThroughputExceededException|TimeoutError|AppError: Table \w+ left \d+ keys unread)/;

/** Events of the last twelve hours may not have been read yet. */
const READ_WITHIN_MS = 12 * 3_600_000;

export function checkFeed({ stage, events }: Evidence): readonly Violation[] {
  const { fed, feedFailures, timeline, restores } = stage;
  // After a restore an event comes again under its old id at another time: its first copy may have been read before.
  if (restores.length > 0) return failures(feedFailures);
  const missed = events
    .filter(({ atMs, by }) => by !== 'parked' && atMs < timeline.endMs - READ_WITHIN_MS)
    .filter(({ event }) => !fed.has(event.id))
    .filter((told) => told.detailType !== 'Compute State Changed' || wasThereToRead(stage, events, told))
    // The feed goes on without an item that it cannot read.
    .filter(({ event }) => ![...stage.unreadable].some((key) => isOf(key, event)))
    .map(({ event, detailType }) => ({
      rule: 'feed-missed',
      operation_id: event.operation_id ?? '',
      detail: detailType,
    }));
  return [...missed, ...failures(feedFailures)];
}

/** The feed has reached an event after this time, however late the indexes and the clocks are. */
const REACHED_AFTER_MS = 2 * MINUTE_MS;

/** A compute keeps its last two changes (docs/api.md), so a change must have been read before the second one after it. */
function wasThereToRead({ feedReadsMs }: Stage, events: readonly Told[], { event }: Told): boolean {
  const { endpoint_id, sequence = 0, observed_at } = event;
  const next = events.find(
    ({ event: other }) => other.endpoint_id === endpoint_id && other.sequence === sequence + 2,
  );
  const untilMs = next === undefined ? Number.POSITIVE_INFINITY : Date.parse(next.event.observed_at);
  return feedReadsMs.some((atMs) => atMs > Date.parse(observed_at) + REACHED_AFTER_MS && atMs < untilMs);
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
