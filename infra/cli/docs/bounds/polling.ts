/** Lists the bounds of reading, recording and publishing operations, for docs/limits.md. */

import {
  POLLS_END_MS,
  pollOptionsFor,
  RELEASE_MS,
  REPORT_MS,
  UPSTREAM_SOCKETS_MAX,
} from '../../../../functions/poller/account/poller-limits.ts';
import { EVENTS_PER_SECOND_MAX } from '../../../../functions/poller/account/relay/relay-leftovers.ts';
import {
  WORK_COUNTED_MAX,
  WORK_READ_MAX,
} from '../../../../functions/poller/account/status/publish-status.ts';
import { DELAYS_MAX } from '../../../../functions/poller/account/status/tally.ts';
import {
  EVENT_LOOP_DELAY_MS_MAX,
  LATE_DECISION_MS_MAX,
} from '../../../../functions/poller/lane/lane-load.ts';
import { SET_ASIDE_MS_MAX } from '../../../../functions/poller/lane/set-aside.ts';
import { WARM_ACCOUNTS_MAX } from '../../../../functions/poller/lane/warm-accounts.ts';
import { WORK_ENTRIES_MAX } from '../../../../functions/poller/project/poll.ts';
import { FAILED_WATCH_MS_MAX } from '../../../../functions/poller/project/read-unlisted.ts';
import { JOINED_ROWS_MAX } from '../../../../functions/poller/project/settled-rows.ts';
import { SWEEP_DEPTH_MS } from '../../../../functions/poller/project/walk.ts';
import { REPLAYED_PER_SECOND_MAX } from '../../../../functions/poller/replay/replay-repeatedly.ts';
import { HISTORY_ENTRIES_MAX, PENDING_ENTRIES_MAX } from '../../../../shared/core/journal/journal.ts';
import { BATCH_BYTES_MAX, BATCH_ENTRIES_MAX } from '../../../../shared/core/journal/relay-plan.ts';
import { POINTS_MAX } from '../../../../shared/core/records/account-status.ts';
import { HISTORY_AFTER_MS, RETENTION_MS } from '../../../../shared/core/records/history.ts';
import { ERROR_TEXT_CHARACTERS_MAX } from '../../../../shared/core/records/operation-record.ts';
import { BUS_CALLS_END, BUS_REST_MS_MAX } from '../../../../shared/events/event-bus.ts';
import { PUBLISH_CALLS_AT_ONCE } from '../../../../shared/protocol/relay-records.ts';
import { KEPT_MS_MAX } from '../../../../shared/runtime/secret-key-source.ts';
import {
  BATCH_ATTEMPTS_MAX,
  WORK_PAGE_KEYS,
  WORK_PAGES_MAX,
} from '../../../../shared/store/dynamodb/dynamodb-table.ts';
import { type BoundGroup, boundMet } from './bound.ts';

const { walkLimits } = pollOptionsFor('open', {});

export const pollingBounds: BoundGroup = {
  title: 'Polling, recording and publishing',
  bounds: [
    {
      name: 'Pages that one poll of a project reads',
      value: walkLimits.pagesMax,
      unit: 'pages',
      reason: 'One project with a long list must not hold up the others.',
      whenMet: 'The next poll of the project continues at the stored cursor.',
      signal: '`WalkAgeMs`, with the alarm `no-complete-walk`',
    },
    {
      name: 'Sockets of a lane to upstreams',
      value: UPSTREAM_SOCKETS_MAX,
      unit: 'sockets',
      reason: 'They take about 25 MB, and a Lambda function may open 1,024 files.',
      whenMet: 'Further requests wait for a socket, at most for the ten seconds that a request may take.',
      signal: boundMet('upstream_sockets'),
    },
    {
      name: 'Time for which the record of an operation is kept',
      value: RETENTION_MS,
      unit: 'ms',
      reason:
        'The service shows an operation for about six months, and what it still shows must not be forgotten.',
      whenMet:
        'The record leaves the table; the archive of the bus has its events for as long as you keep them.',
      signal: 'No signal: no list shows the operation any more.',
    },
    {
      name: 'Age from which a row that the table does not know is history',
      value: HISTORY_AFTER_MS,
      unit: 'ms',
      reason: 'The table may forget it ten days later; the margin allows for wrong clocks.',
      whenMet: 'The operation is not published.',
      signal: 'No signal: the service itself does not show it much longer.',
    },
    {
      name: 'Rows of one project that are kept in memory while a walk takes several polls',
      value: JOINED_ROWS_MAX,
      unit: 'rows',
      reason: 'A row takes eight bytes, and several projects can be in this state at the same time.',
      whenMet: 'The records of earlier rows are read from the table once more.',
      signal: 'No signal: nothing is left out.',
    },
    {
      name: 'Open and unpublished items that one poll of a project reads',
      value: WORK_ENTRIES_MAX,
      unit: 'items',
      reason: 'A project usually has a few such items; after an outage of the bus it may have thousands.',
      whenMet: 'The next poll reads the following items.',
      signal: '`UnpublishedBacklog`',
    },
    {
      name: 'Unsent entries of one item',
      value: PENDING_ENTRIES_MAX,
      unit: 'entries',
      reason: 'An item of the table holds at most 400 KB, and each write is billed by the size of the item.',
      whenMet:
        'No further entry of the operation is recorded until the bus accepts some. Then one entry records the state at that time.',
      signal: '`TransitionsDeferred`; log line `journal.full`',
    },
    {
      name: 'Events that the relay of a backlog publishes',
      value: EVENTS_PER_SECOND_MAX,
      unit: 'events a second',
      reason: 'Polling must keep most of the processor time that a small Lambda function has.',
      whenMet: 'The backlog drains at this rate, beside the polls.',
      signal: '`UnpublishedAgeMs`, with the alarm `unpublished-events`',
    },
    {
      name: 'Calls of the bus that one relay has under way',
      value: PUBLISH_CALLS_AT_ONCE,
      unit: 'calls',
      reason:
        'If the process is killed at any moment, at most the entries of these calls are published twice.',
      whenMet: 'The next call waits for one of them.',
      signal: 'No signal: nothing is left out.',
    },
    {
      name: 'Keys of the work index that one reading of all of it takes',
      value: WORK_PAGES_MAX * WORK_PAGE_KEYS,
      unit: 'keys',
      reason: 'The poller reads the index in pages; only small tools read all of it at once.',
      whenMet: 'The reading fails with `work_index_too_large`.',
      signal: 'Error `work_index_too_large` in the log',
    },
    {
      name: 'Items of the work index that the status counts',
      value: WORK_COUNTED_MAX,
      unit: 'items',
      reason: 'Counting a larger backlog every minute would cost more than the number is worth.',
      whenMet: 'The status shows this many open operations at most.',
      signal: 'Log line `work.not_counted`',
    },
    {
      name: 'Time for polls to end after the stop signal',
      value: POLLS_END_MS,
      unit: 'ms',
      reason: 'With slow services, the longest chain of calls that a poll still has to make takes 2.6 s.',
      whenMet: 'The invocation ends without waiting for the call under way.',
      signal: '`InvocationsCutShort`; log line `invocation.cut_short`',
    },
    {
      name: 'Time for health, status and lease at the end of an invocation',
      value: REPORT_MS + RELEASE_MS,
      unit: 'ms',
      reason: 'It fits between the end of the polls and the time-out of the function.',
      whenMet: 'The invocation ends without waiting for them; the next one writes them.',
      signal: '`InvocationsCutShort`; log line `invocation.cut_short`',
    },
    {
      name: 'Accounts that one warm environment keeps',
      value: WARM_ACCOUNTS_MAX,
      unit: 'accounts',
      reason: 'They are those of two lanes of a hundred small accounts, about 30 MB.',
      whenMet: 'The account that was polled longest ago is read again as after a cold start.',
      signal: 'Log line `projects.listed` of an account that was listed before',
    },
    {
      name: 'Pause of an account whose poller throws errors',
      value: SET_ASIDE_MS_MAX,
      unit: 'ms',
      reason:
        'An account that fails again and again must not take the time of its lane, and a repaired one is polled soon.',
      whenMet: 'The account is tried again after each such pause, for ever.',
      signal: '`AccountsSetAside`, with the alarm `accounts-set-aside`',
    },
    {
      name: 'Delay of the event loop of a lane, in 99 of 100 cases',
      value: EVENT_LOOP_DELAY_MS_MAX,
      unit: 'ms',
      reason: 'A call of the upstream takes about as long.',
      whenMet:
        'The accounts of the lane are polled late; the log says whether a lane, a pin or memory helps.',
      signal: '`LaneLoadPercent`, with the alarm `lane-overloaded`',
    },
    {
      name: 'Lateness of the decisions of a lane, in 99 of 100 cases',
      value: LATE_DECISION_MS_MAX,
      unit: 'ms',
      reason: 'Transitions are found this much later than planned.',
      whenMet:
        'The accounts of the lane are polled late; the log says whether a lane, a pin or memory helps.',
      signal: '`LaneLoadPercent`, with the alarm `lane-overloaded`',
    },
    {
      name: 'Depth of the daily sweep below the bound',
      value: SWEEP_DEPTH_MS,
      unit: 'ms',
      reason:
        'An operation may become visible in the list this much later than it was created, and is still found.',
      whenMet: 'An operation that becomes visible later is not found.',
      signal: '`LateOperations` counts those that came late and were found.',
    },
    {
      name: 'Time for which a failed operation is watched',
      value: FAILED_WATCH_MS_MAX,
      unit: 'ms',
      reason: 'No retry is expected after that time.',
      whenMet:
        'The bridge stops watching the operation. If a later reading shows a retry, it is published all the same.',
      signal: 'Event `Operation Watch Ended` with `reason: not_retried`',
    },
    {
      name: 'Attempts of one batch read of the table',
      value: BATCH_ATTEMPTS_MAX,
      unit: 'attempts',
      reason:
        'With the pauses between them, these attempts take a second and a half at the most, so a poll still ends in time.',
      whenMet:
        'Whoever asked for a key that was left unread fails, and tries again with the next poll or request. Everybody else has their items.',
      signal: 'Log line `poll.failed` or `request.failed` with `table_throttled`',
    },
    {
      name: 'Items that are read to find the age of the backlog',
      value: WORK_READ_MAX,
      unit: 'items',
      reason: 'The search costs one read of the table a minute.',
      whenMet: '`UnpublishedAgeMs` is the age of the oldest entry among these items.',
      signal: '`UnpublishedBacklog` is larger than this bound.',
    },
    {
      name: 'Detection delays of one minute that the status keeps',
      value: DELAYS_MAX,
      unit: 'delays',
      reason: 'More values hardly change a percentile.',
      whenMet:
        'The percentiles in the console are those of the first delays of the minute. `DetectionDelayMs` has every delay.',
      signal: boundMet('delays_kept'),
    },
    {
      name: 'Minutes that the status of an account shows',
      value: POINTS_MAX,
      unit: 'points',
      reason: 'Two hours fit into one small item.',
      whenMet: 'The oldest point is dropped.',
      signal: 'No signal: the time of each point is shown.',
    },
    {
      name: 'Entries that an item keeps after they are acknowledged',
      value: HISTORY_ENTRIES_MAX,
      unit: 'entries',
      reason: 'An operation that fails and is retried for days must not outgrow its item.',
      whenMet: 'The oldest acknowledged entry leaves the history. It was published before.',
      signal: 'The first `sequence` of the history is larger than 1.',
    },
    {
      name: 'Text of an upstream error in records and events',
      value: ERROR_TEXT_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'A few lines of text are enough, and the item stays near one write unit.',
      whenMet: 'The text is cut.',
      signal: 'The text has exactly this length.',
    },
    {
      name: 'Entries of one PutEvents call',
      value: BATCH_ENTRIES_MAX,
      unit: 'entries',
      reason: 'EventBridge accepts no more.',
      whenMet: 'Another call follows.',
      signal: 'No signal: nothing is left out.',
    },
    {
      name: 'Age of a secret that is used while it cannot be read',
      value: KEPT_MS_MAX,
      unit: 'ms',
      reason:
        'An outage of Secrets Manager stops nothing for a day, and a key that somebody has taken away is not used for longer.',
      whenMet:
        'What needs the secret fails until it can be read again. Nothing is lost: the next walk finds what ran meanwhile.',
      signal: '`SecretsUnreadable`; log lines `secret.not_read` and `key.unreadable`',
    },
    {
      name: 'Time of one PutEvents call',
      value: BUS_CALLS_END.requestHandler.requestTimeout,
      unit: 'ms',
      reason: 'A slow bus carries calls out all the same, so giving up earlier makes copies.',
      whenMet:
        'The bus is left alone for a second, and longer with each such call; then the events are sent again.',
      signal: '`UnpublishedAgeMs`; log line `relay.backed_off`',
    },
    {
      name: 'Pause of a bus that does not answer, or whose policy refuses events',
      value: BUS_REST_MS_MAX,
      unit: 'ms',
      reason:
        'A bus in trouble gets no storm of copies, and events come a minute after it is well at the latest.',
      whenMet: 'One call a minute finds out whether the bus takes events again.',
      signal: '`UnpublishedAgeMs`; log line `relay.backed_off`',
    },
    {
      name: 'Size of one PutEvents call',
      value: BATCH_BYTES_MAX,
      unit: 'bytes',
      reason: 'It is well below what EventBridge accepts in every region.',
      whenMet:
        'Another call follows. An entry that is too large is sent alone, and stored as a parked event if the bus refuses it.',
      signal: '`EventsParked`; log line `event.parked`',
    },
    {
      name: 'Events that a replay sends a second',
      value: REPLAYED_PER_SECOND_MAX,
      unit: 'events',
      reason: 'Together with the relay it stays far below the smallest quota of PutEvents, 400 a second.',
      whenMet: 'The replay takes longer; new events do not wait for it.',
      signal: '`GET /bridge/v1/replay` shows how far it has come',
    },
  ],
};
