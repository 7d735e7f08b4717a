/** Bounds of reading, recording and publishing operations. */

import { pollOptionsFor } from '../../../functions/poller/limits.ts';
import { DELAYS_MAX } from '../../../functions/poller/tally.ts';
import { WORK_READ_MAX } from '../../../functions/poller/tell-status.ts';
import { POINTS_MAX } from '../../../shared/core/account-status.ts';
import { HISTORY_ENTRIES_MAX } from '../../../shared/core/journal.ts';
import { ERROR_TEXT_CHARACTERS_MAX } from '../../../shared/core/operation-record.ts';
import { SWEEP_DEPTH_MS } from '../../../shared/core/page-walk.ts';
import { BATCH_BYTES_MAX, BATCH_ENTRIES_MAX } from '../../../shared/core/relay-plan.ts';
import { FAILED_WATCH_MS_MAX } from '../../../shared/core/watch-rate.ts';
import { BATCH_ROUNDS_MAX } from '../../../shared/store/dynamodb-table.ts';
import { type BoundGroup, boundMet } from './bound.ts';

const { walkLimits, backfillDepthMs } = pollOptionsFor('open', {});

export const pollingBounds: BoundGroup = {
  title: 'Polling, recording and publishing',
  bounds: [
    {
      name: 'Pages that one poll of a project reads',
      value: walkLimits.pagesMax,
      unit: 'pages',
      reason: 'One project with a long list must not hold up the others.',
      whenMet: 'The next poll of the project goes on from the stored cursor.',
      signal: '`WalkAgeMs`, with the alarm `no-complete-walk`',
    },
    {
      name: 'Age of operations that the first reading of a project looks at',
      value: backfillDepthMs,
      unit: 'ms',
      reason:
        'What is older would be forgotten before a later reading meets it. `backfill: all` lifts this bound.',
      whenMet: 'Older operations are not recorded; they are history.',
      signal: 'None is needed: it is the configured depth.',
    },
    {
      name: 'Depth of the daily sweep below the watermark',
      value: SWEEP_DEPTH_MS,
      unit: 'ms',
      reason: 'How late a row may become visible and still be found.',
      whenMet: 'An operation that becomes visible later than this is not found.',
      signal: '`LateOperations` counts those that came late and were found.',
    },
    {
      name: 'Time for which a failed operation is watched',
      value: FAILED_WATCH_MS_MAX,
      unit: 'ms',
      reason: 'Nobody retries an operation after that.',
      whenMet: 'The watch ends; a later retry is published all the same when a reading shows it.',
      signal: 'Event `Operation Watch Ended` with `reason: not_retried`',
    },
    {
      name: 'Rounds of one batch read of the table',
      value: BATCH_ROUNDS_MAX,
      unit: 'rounds',
      reason: 'The SDK has waited already before each of them.',
      whenMet: 'The poll or the request fails, and the next one tries again.',
      signal: 'Log line `poll.failed` or `request.failed` with `table_throttled`',
    },
    {
      name: 'Items that are looked into for the age of the backlog',
      value: WORK_READ_MAX,
      unit: 'items',
      reason: 'It is one read of the table a minute.',
      whenMet: '`UnpublishedAgeMs` is the age of the oldest entry among these items.',
      signal: '`UnpublishedBacklog` is larger than what is looked into.',
    },
    {
      name: 'Detection delays of one minute that the status keeps',
      value: DELAYS_MAX,
      unit: 'delays',
      reason: 'More of them do not change a percentile.',
      whenMet:
        'The percentiles of the console are those of the first ones. `DetectionDelayMs` has all of them.',
      signal: boundMet('delays_kept'),
    },
    {
      name: 'Minutes that the status of an account shows',
      value: POINTS_MAX,
      unit: 'points',
      reason: 'Two hours fit into one small item.',
      whenMet: 'The oldest point is dropped.',
      signal: 'None is needed: the time of each point is shown.',
    },
    {
      name: 'Entries that an item keeps after they are acknowledged',
      value: HISTORY_ENTRIES_MAX,
      unit: 'entries',
      reason: 'An operation that fails and is retried for days must not outgrow its item.',
      whenMet: 'The oldest acknowledged entry leaves the history; it has been published.',
      signal: 'The first `sequence` of the history is larger than 1.',
    },
    {
      name: 'Text of an upstream error in records and events',
      value: ERROR_TEXT_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'A few lines; the item stays near one write unit.',
      whenMet: 'The text is cut.',
      signal: 'The text has exactly this length.',
    },
    {
      name: 'Entries of one PutEvents call',
      value: BATCH_ENTRIES_MAX,
      unit: 'entries',
      reason: 'EventBridge takes no more.',
      whenMet: 'Another call follows.',
      signal: 'None is needed: nothing is left out.',
    },
    {
      name: 'Size of one PutEvents call',
      value: BATCH_BYTES_MAX,
      unit: 'bytes',
      reason: 'Well below what EventBridge takes in every region.',
      whenMet:
        'Another call follows; a single entry that is too large is sent alone, and set aside when the bus refuses it.',
      signal: '`EventsParked`; log line `event.parked`',
    },
  ],
};
