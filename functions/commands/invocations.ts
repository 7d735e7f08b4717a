/** How the worker is invoked: by its queue, by the ends of operations on the bus, and by a schedule; and how long it may take. */

import { LOCKING_STATUSES } from '../../shared/commands/lock-holders.ts';
import { DETAIL_TYPES, EVENT_SOURCE } from '../../shared/events/event-names.ts';

/**
 * Lambda hides a message while it is worked on. The time-out is that of the function, and not six times as long as AWS
 * advises for standard queues: a message of a killed process must not hold its project for long, and a message that is
 * handed out twice does no harm.
 */
export const commandsQueue = {
  visibilityTimeoutMs: 60_000,
  receiveCountMax: 5,
  batchSize: 10,
} as const;

/** The sweep wakes what a crash left without a message. */
export const commandsSchedule = { everyMs: 60_000, timeoutMs: 60_000 } as const;

/** What has begun by then has 15 s to end: a request to the upstream takes ten at the most. */
export const WORK_MS_MAX = 40_000;

/** The end of an operation may release a lock that a queued command waits for. */
export const lockReleasedPattern = {
  source: [EVENT_SOURCE],
  'replay-name': [{ exists: false }],
  resources: [{ exists: false }],
  $or: [
    { 'detail-type': [DETAIL_TYPES.watch_ended] },
    {
      'detail-type': [DETAIL_TYPES.state_changed],
      detail: { status: [{ 'anything-but': [...LOCKING_STATUSES] }] },
    },
  ],
};
