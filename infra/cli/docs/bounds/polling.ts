/** Lists the bounds of reading, recording and publishing operations, for docs/limits.md. */

import {
  PREVIEW_ITEMS_PER_PAGE,
  PREVIEW_PAGES_MAX,
} from '../../../../functions/api/read-model/recorded-events.ts';
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
import { JOINED_ROWS_MAX } from '../../../../functions/poller/project/memory/settled-rows.ts';
import { WORK_ENTRIES_MAX } from '../../../../functions/poller/project/read-stored.ts';
import { INDEX_ENTRIES_MAX } from '../../../../functions/poller/project/recorded-operations.ts';
import { FAILED_WATCH_MS_MAX } from '../../../../functions/poller/project/recording/watch-end.ts';
import { REPAIR_SHARE } from '../../../../functions/poller/repair/repair-repeatedly.ts';
import { REPLAYED_PER_SECOND_MAX } from '../../../../functions/poller/replay/replay-step.ts';
import { UNORDERED_PAGES_MAX } from '../../../../functions/poller/walk-plan/page-walk.ts';
import { SWEEP_DEPTH_MS } from '../../../../functions/poller/walk-plan/sweep-walk.ts';
import { HISTORY_ENTRIES_MAX, PENDING_ENTRIES_MAX } from '../../../../shared/core/journal/journal.ts';
import { BATCH_BYTES_MAX, BATCH_ENTRIES_MAX } from '../../../../shared/core/journal/relay-plan.ts';
import { POINTS_MAX } from '../../../../shared/core/records/account-status.ts';
import { FORGOTTEN_AFTER_MS } from '../../../../shared/core/records/history.ts';
import { ERROR_TEXT_CHARACTERS_MAX } from '../../../../shared/core/records/operation-record.ts';
import { RECORDED_ABOVE_MAX } from '../../../../shared/core/records/recorded-above.ts';
import { BUS_CALLS_END, BUS_REST_MS_MAX } from '../../../../shared/events/event-bus.ts';
import { PUBLISH_CALLS_AT_ONCE } from '../../../../shared/protocol/relay-records.ts';
import { KEPT_MS_MAX } from '../../../../shared/runtime/secret-key-source.ts';
import { UNREPAIRED_LISTED_MAX } from '../../../../shared/store/adapters/repairs.ts';
import {
  BATCH_ATTEMPTS_MAX,
  WORK_PAGE_KEYS,
  WORK_PAGES_MAX,
} from '../../../../shared/store/dynamodb/dynamodb-table.ts';
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
      name: 'Pages of an unordered list that one poll reads',
      value: UNORDERED_PAGES_MAX,
      unit: 'pages',
      reason:
        'A list that is not newest first is read to its end again and again. It must leave requests for other projects.',
      whenMet:
        'The next poll continues at the stored cursor. New operations at the end of the list are seen later.',
      signal: 'Log line `list.unordered`',
    },
    {
      name: 'Age from which an unknown row near the watermark counts as forgotten',
      value: FORGOTTEN_AFTER_MS,
      unit: 'ms',
      reason: 'The table forgets settled operations fifteen days later; the margin allows for wrong clocks.',
      whenMet:
        'The row counts as history and is not published. A row that is a day newer than everything recorded is published at any age.',
      signal: 'Log line `rows.forgotten`',
    },
    {
      name: 'Operations that the item of a project names because its list is unordered or cannot be read',
      value: RECORDED_ABOVE_MAX,
      unit: 'operations',
      reason: 'The item of an unordered list is written with every poll, and a write is billed by its size.',
      whenMet:
        'The newest are named. Before the first complete walk, and in an unordered list, an older one is published once more, with the same id, if the list cannot be read for 45 days at that moment. Otherwise everything that is older than those counts as recorded.',
      signal: 'Log line `rows.not_noted`, or `rows.forgotten` once such a row appears after thirty days',
    },
    {
      name: 'Entries of the index of creation times that are read when a project cannot be read',
      value: INDEX_ENTRIES_MAX,
      unit: 'entries',
      reason:
        'They are five short queries. A walk of hundreds of operations that was cut short needs no name for any of them, and hides what is below it.',
      whenMet:
        'What is older than these is not named, and is published once more, with the same id, if the list cannot be read for 45 days.',
      signal: 'Log line `rows.not_noted`',
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
      name: 'Age of operations that the first reading of a project looks at',
      value: backfillDepthMs,
      unit: 'ms',
      reason:
        'The table would forget older operations before a later reading could meet them. `backfill: all` removes this bound.',
      whenMet: 'Older operations count as history and are not recorded.',
      signal: 'No signal: it is the configured depth.',
    },
    {
      name: 'Depth of the daily sweep below the watermark',
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
      name: "Part of the poller's requests for repairs",
      value: REPAIR_SHARE * 100,
      unit: '%',
      reason: 'Repairs are rare, and polls must not wait for them.',
      whenMet: 'The repair takes longer.',
      signal: '`GET /bridge/v1/projects/{project_id}/repair` shows how far it has come',
    },
    {
      name: 'Operations that a repair lists as not repaired',
      value: UNREPAIRED_LISTED_MAX,
      unit: 'operations',
      reason: 'The repair is one item of the table.',
      whenMet: 'Further ones are only counted; a repair that begins later lists them.',
      signal: '`unrepaired_count` is larger than the list',
    },
    {
      name: 'Events that a replay sends a second',
      value: REPLAYED_PER_SECOND_MAX,
      unit: 'events',
      reason: 'Together with the relay it stays far below the smallest quota of PutEvents, 400 a second.',
      whenMet: 'The replay takes longer; new events do not wait for it.',
      signal: '`GET /bridge/v1/replay` shows how far it has come',
    },
    {
      name: 'Items that the preview of a replay reads in one request',
      value: PREVIEW_PAGES_MAX * PREVIEW_ITEMS_PER_PAGE,
      unit: 'items',
      reason: 'A request takes at most some seconds, whatever the size of the account.',
      whenMet: 'The answer has a cursor for the next stretch.',
      signal: '`cursor` in the answer',
    },
  ],
};
