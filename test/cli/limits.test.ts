/** The numbers of docs/limits.md are those of the code. */

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FILTER_CHARACTERS_MAX, PAGE_MAX } from '../../functions/api/bridge/bridge-route.ts';
import { FILTERED_PAGES_MAX } from '../../functions/api/bridge/operation-routes.ts';
import { FAILED_READ_MAX, INCIDENTS_READ_MAX } from '../../functions/api/console/pages/troubles.ts';
import {
  PROVIDER_ANSWER_BYTES_MAX,
  PROVIDER_TIMEOUT_SECONDS,
  SIGN_IN_MS_MAX,
} from '../../functions/api/console/sign-in/identity-provider.ts';
import { COOKIE_CHARACTERS_MAX, GROUPS_MAX } from '../../functions/api/console/sign-in/session.ts';
import { DOCUMENTATION_BYTES_PER_MINUTE } from '../../functions/api/documentation/documentation-routes.ts';
import {
  CHANGES_QUERIES_MAX,
  KEYS_PER_QUERY,
  LATER_OPERATIONS_MAX,
  LATER_READ_MAX,
  OPEN_OPERATIONS_MAX,
  PROJECTS_QUERIES_MAX,
  WORK_AT_HAND_MAX,
} from '../../functions/api/read-model/account-activity.ts';
import { LISTED_ALERTS_MAX } from '../../functions/api/read-model/alerts.ts';
import { AUDIT_QUERIES_MAX, RECORDS_PER_QUERY } from '../../functions/api/read-model/audit-reader.ts';
import { RULES_WITH_FIGURES_MAX } from '../../functions/api/read-model/bus-reader.ts';
import {
  ITEMS_PER_QUERY,
  QUERIES_MAX,
  SEARCH_QUERIES_MAX,
  TOLD_MAX,
} from '../../functions/api/read-model/event-feed.ts';
import { READING_KEPT_MS } from '../../functions/api/read-model/subscriptions.ts';
import { CACHE_ENTRIES_MAX, CREDENTIALS_CHARACTERS_MAX } from '../../functions/api/serving/admission.ts';
import {
  BODY_BYTES_MAX,
  JSON_DEPTH_MAX,
  PASSED_BODY_BYTES_MAX,
} from '../../functions/api/serving/read-request.ts';
import { RECORDED_REFUSALS_MAX } from '../../functions/api/serving/request-audit.ts';
import { REQUEST_MS_MAX } from '../../functions/api/serving/serve-route.ts';
import { WAIT_SECONDS_MAX } from '../../functions/api/serving/waiting.ts';
import {
  KNOWN_MS,
  WAITING_COMMANDS_MAX,
  WAITING_COMMANDS_OF_CALLER_MAX,
} from '../../functions/api/upstream/accept-command.ts';
import { SETTLE_LOCK_MS_MAX, SETTLE_MS_MAX } from '../../functions/api/upstream/command-end.ts';
import { READ_SOCKETS_MAX } from '../../functions/api/upstream/pass-through.ts';
import { TOLD_OPERATIONS_MAX } from '../../functions/commands/callbacks.ts';
import { HANDED_BACK_MS_MAX } from '../../functions/commands/invocation.ts';
import { SWEPT_LINES_MAX } from '../../functions/commands/work.ts';
import { CHANNEL_KINDS } from '../../functions/notifier/channels/channels.ts';
import { REMINDER_MS } from '../../functions/notifier/deciding/incident.ts';
import { FAILURES_KEPT_MAX } from '../../functions/notifier/deciding/incident-record.ts';
import { PAUSE_MS_MAX as CHANNEL_PAUSE_MS_MAX } from '../../functions/notifier/deciding/waking.ts';
import { SEND_BUDGET_MS } from '../../functions/notifier/environment.ts';
import { LIST_EDITS_APART_MS, LISTS_EDITED_MAX } from '../../functions/notifier/sending/plan-messages.ts';
import { MUTED_COUNTED_MAX } from '../../functions/notifier/sending/send-due.ts';
import { EDITS_MAX } from '../../functions/notifier/sending/upkeep.ts';
import {
  DOUBTFUL,
  HELD_MS,
  NOT_FOUND_SHARE_MAX,
} from '../../functions/poller/account/discovery/known-projects.ts';
import { PROJECT_PAGE_ROWS, PROJECTS_MAX } from '../../functions/poller/account/discovery/list-page.ts';
import { OTHER_ACCOUNTS_MAX } from '../../functions/poller/account/discovery/origin.ts';
import {
  ACCOUNT_WAIT_MS_MAX,
  CHANGE_WAIT_MS_MAX,
  PROJECT_WAIT_MS_MAX,
  WAITING_SAMPLES_MAX,
  WAITING_VALUES_MAX,
} from '../../functions/poller/account/insights.ts';
import { EVENTS_PER_SECOND_MAX } from '../../functions/poller/account/relay-leftovers.ts';
import {
  DELAYS_MAX,
  WORK_COUNTED_MAX,
  WORK_READ_MAX,
} from '../../functions/poller/account/status/publish-status.ts';
import { BOUND_NAMES } from '../../functions/poller/account/status/report-bound.ts';
import { POLLS_END_MS, RELEASE_MS, REPORT_MS } from '../../functions/poller/account/wind-up.ts';
import { pollOptionsFor, UPSTREAM_SOCKETS_MAX } from '../../functions/poller/create-account.ts';
import { SET_ASIDE_MS_MAX, WARM_ACCOUNTS_MAX } from '../../functions/poller/lane/run-lane.ts';
import { BARREN_PAGES_MAX, LIST_PAGES_MAX } from '../../functions/poller/planner/list-hints.ts';
import { FAILED_WATCH_MS_MAX } from '../../functions/poller/project/open-operations.ts';
import { WORK_ENTRIES_MAX } from '../../functions/poller/project/poll.ts';
import { JOINED_ROWS_MAX } from '../../functions/poller/project/project-memory.ts';
import { SWEEP_DEPTH_MS } from '../../functions/poller/project/walk.ts';
import { REPLAYED_PER_SECOND_MAX } from '../../functions/poller/repairs-and-replays.ts';
import {
  ACCOUNTS_MAX,
  LANES_MAX,
  OWN_LANES_MAX,
  POLLED_PROJECTS_MAX,
  STATE_MACHINES_MAX,
} from '../../infra/bridge-config.ts';
import { ADDED_ACCOUNTS_MAX, LOOK_MS } from '../../shared/accounts/account-store.ts';
import { OPEN_INCIDENTS_MAX } from '../../shared/alerts/common-cause.ts';
import { DEAF_MS } from '../../shared/alerts/incidents.ts';
import { ACTIVE_MUTES_MAX, MUTE_MS_MAX } from '../../shared/alerts/mutes.ts';
import { APPROVAL_RULES_MAX, LIST_PAGES_MAX as TOKEN_PAGES_MAX } from '../../shared/callers/tokens.ts';
import { KEPT_SECONDS } from '../../shared/commands/audit.ts';
import {
  DELIVERED_WITHIN_MS,
  ENDED_WITHIN_MS,
  TASK_TOKEN_CHARACTERS_MAX,
} from '../../shared/commands/callbacks.ts';
import { HOLD_MS } from '../../shared/commands/fair-share.ts';
import { KEPT_MS } from '../../shared/commands/idempotency-store.ts';
import { COMMAND_KEPT_MS, REQUEST_BYTES_MAX } from '../../shared/commands/queue-store.ts';
import {
  APPROVAL_MS,
  LINE_ENTRIES_MAX,
  LINE_ENTRIES_OF_CALLER_MAX,
} from '../../shared/commands/queued-command.ts';
import { RECORD_MS_MAX } from '../../shared/commands/send-command.ts';
import { BODY_CHARACTERS_MAX } from '../../shared/commands/send-once.ts';
import { SECRET_ARN_CHARACTERS_MAX, UPSTREAM_HOSTS_MAX } from '../../shared/config/account-rules.ts';
import { DEADLINE_SECONDS_MAX, ROLE_PROJECTS_MAX, ROLES_MAX } from '../../shared/config/api-config.ts';
import { USAGE_LIMITS_MAX } from '../../shared/config/poller-config.ts';
import { BUS_CALLS_END, BUS_REST_MS_MAX } from '../../shared/events/event-bus.ts';
import { ACTIONS_MAX, REMEMBERED_MAX, VALUE_MAX } from '../../shared/insights/day-insights.ts';
import { FAILING_PROJECTS_MAX } from '../../shared/insights/hour-counts.ts';
import { PUBLISH_CALLS_AT_ONCE } from '../../shared/protocol/relay-records.ts';
import { COMMANDS_PER_SECOND, LIMIT_PER_MINUTE } from '../../shared/rates/account-rate.ts';
import { CALLERS_MAX } from '../../shared/rates/ledger.ts';
import { ATTEMPTS_MAX, PAUSE_MS_MAX, RETRY_AFTER_MS_MAX } from '../../shared/rates/retry-decision.ts';
import { POINTS_MAX } from '../../shared/records/account-status.ts';
import {
  BATCH_BYTES_MAX,
  BATCH_ENTRIES_MAX,
  HISTORY_ENTRIES_MAX,
  PENDING_ENTRIES_MAX,
} from '../../shared/records/journal.ts';
import { ERROR_TEXT_CHARACTERS_MAX } from '../../shared/records/operation-record.ts';
import { HISTORY_AFTER_MS, RETENTION_MS } from '../../shared/records/project-record.ts';
import { DECIDED_WITHIN_MS, ORIGINS_MAX } from '../../shared/records/transfer.ts';
import { USAGE_DAYS_MAX } from '../../shared/records/usage.ts';
import { KEPT_MS_MAX } from '../../shared/runtime/secret-key-source.ts';
import { BATCH_ATTEMPTS_MAX, WORK_PAGE_KEYS, WORK_PAGES_MAX } from '../../shared/store/dynamodb-table.ts';
import { NAMES_PER_ITEM_MAX } from '../../shared/store/project-names.ts';
import { DERIVED_KEPT_SECONDS } from '../../shared/store/records.ts';
import {
  CURSOR_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  TEXT_CHARACTERS_MAX,
} from '../../shared/upstream/calls/schemas.ts';
import { ANSWER_BYTES_MAX as PASSED_BYTES_MAX } from '../../shared/upstream/forward.ts';
import { ANSWER_BYTES_MAX, TIMEOUT_MS } from '../../shared/upstream/send-with-key.ts';

/** Durations are in milliseconds, sizes in bytes, and all else in the unit of the page. */
const constants: Readonly<Record<string, number>> = {
  'Accounts added while the bridge runs': ADDED_ACCOUNTS_MAX,
  'Time until every function knows of a change of accounts': LOOK_MS,
  'Hosts to which keys of added accounts may be sent': UPSTREAM_HOSTS_MAX,
  'Accounts of the configuration': ACCOUNTS_MAX,
  'Projects that the configuration names': POLLED_PROJECTS_MAX,
  'Projects with a limit of usage in the configuration': USAGE_LIMITS_MAX,
  'Length of the ARN of a secret': SECRET_ARN_CHARACTERS_MAX,
  Lanes: LANES_MAX,
  'Lanes for pinned accounts only': OWN_LANES_MAX,
  'Projects that are polled': PROJECTS_MAX,
  'Pages of one reading of the project list': LIST_PAGES_MAX,
  'Pages in a row without a new project': BARREN_PAGES_MAX,
  'Rows of one page of the project list': PROJECT_PAGE_ROWS,
  'Share of the requests for projects that answer 404': 100 * NOT_FOUND_SHARE_MAX,
  'Time of 404 answers until a project counts as gone': DOUBTFUL.spanMs,
  'Time of 404 answers in a bridge of several accounts': HELD_MS,
  'Wait for another account to say whether it still has a project': DECIDED_WITHIN_MS,
  'Other accounts in which a new project is looked for': OTHER_ACCOUNTS_MAX,
  'Accounts before, of a project that was moved again and again': ORIGINS_MAX,
  'Time for which a gone project stays in lists': 1_000 * DERIVED_KEPT_SECONDS,
  'Time for which a branch or compute is kept after its last change': 1_000 * DERIVED_KEPT_SECONDS,
  'Pages of one poll': pollOptionsFor('open', {}).walkLimits.pagesMax,
  'Sockets of a lane to upstreams': UPSTREAM_SOCKETS_MAX,
  'Time for which an operation is kept': RETENTION_MS,
  'Age from which an unknown row is history': HISTORY_AFTER_MS,
  'Rows of one project kept in memory during a long walk': JOINED_ROWS_MAX,
  'Open and unpublished items that one poll reads': WORK_ENTRIES_MAX,
  'Unsent entries of one item': PENDING_ENTRIES_MAX,
  'Events of a backlog': EVENTS_PER_SECOND_MAX,
  'Calls of the bus under way in one relay': PUBLISH_CALLS_AT_ONCE,
  'Keys of the work index in one reading of all of it': WORK_PAGES_MAX * WORK_PAGE_KEYS,
  'Items of the work index that the status counts': WORK_COUNTED_MAX,
  'Time for polls to end after the stop signal': POLLS_END_MS,
  'Time for health, status and lease at the end': REPORT_MS + RELEASE_MS,
  'Accounts that one warm environment keeps': WARM_ACCOUNTS_MAX,
  'Pause of an account whose poller throws errors': SET_ASIDE_MS_MAX,
  'Depth of the daily sweep': SWEEP_DEPTH_MS,
  'Time for which a failed operation is watched': FAILED_WATCH_MS_MAX,
  'Attempts of one batch read': BATCH_ATTEMPTS_MAX,
  'Items read to count the backlog and find its age': WORK_READ_MAX,
  'Delays of one minute in the status': DELAYS_MAX,
  'Minutes in the status of an account': POINTS_MAX,
  'Acknowledged entries that an item keeps': HISTORY_ENTRIES_MAX,
  'Text of an upstream error in records and events': ERROR_TEXT_CHARACTERS_MAX,
  'Entries of one PutEvents call': BATCH_ENTRIES_MAX,
  'Time of one PutEvents call': BUS_CALLS_END.requestHandler.requestTimeout,
  'Pause of a bus that does not answer, throttles, or refuses by policy': BUS_REST_MS_MAX,
  'Size of one PutEvents call': BATCH_BYTES_MAX,
  'Age of a secret that is used while it cannot be read': KEPT_MS_MAX,
  'Events of a replay': REPLAYED_PER_SECOND_MAX,
  'Requests of one account': LIMIT_PER_MINUTE,
  'Smallest part of an instance while the table does not count': 1,
  'Sockets of the API for reads': READ_SOCKETS_MAX,
  'Time for one answer': TIMEOUT_MS,
  'Size of one answer': ANSWER_BYTES_MAX,
  'Size of one answer that is passed on': PASSED_BYTES_MAX,
  'Tries of one request': ATTEMPTS_MAX,
  'Pause before a repetition that is waited for': PAUSE_MS_MAX,
  '`Retry-After` that is honoured': RETRY_AFTER_MS_MAX,
  'Cursor of a list': CURSOR_CHARACTERS_MAX,
  'Names of statuses, actions, branches and computes': NAME_CHARACTERS_MAX,
  'Text of an error in an answer': TEXT_CHARACTERS_MAX,
  "Body of a request to the bridge's own routes": BODY_BYTES_MAX,
  'Body of a call that is passed on': PASSED_BODY_BYTES_MAX,
  'Depth of a JSON body': JSON_DEPTH_MAX,
  'Credentials of a request': CREDENTIALS_CHARACTERS_MAX,
  'Time of one request': REQUEST_MS_MAX,
  "Time for recording a command's operations before its answer": RECORD_MS_MAX,
  'Answer that is kept under an `Idempotency-Key`': BODY_CHARACTERS_MAX,
  'Time for which an `Idempotency-Key` is known': KEPT_MS,
  'Characters of one filter of a list': FILTER_CHARACTERS_MAX,
  'Rows of one page of a list': PAGE_MAX,
  'Pages that one request with a filter reads': FILTERED_PAGES_MAX,
  'Items that one request of the feed reads': QUERIES_MAX * ITEMS_PER_QUERY,
  'Records that one page of the audit reads': AUDIT_QUERIES_MAX * RECORDS_PER_QUERY,
  'Refusals of one caller in a minute with audit records of their own': RECORDED_REFUSALS_MAX,
  'Events that a cursor of the feed remembers': TOLD_MAX,
  'Time that `wait` waits': 1_000 * WAIT_SECONDS_MAX,
  'Items that a filter or a search of the console reads': SEARCH_QUERIES_MAX * 50,
  'Alerts of a channel, and of what waits there, that a page shows': LISTED_ALERTS_MAX,
  'Open operations that the console and health read': OPEN_OPERATIONS_MAX,
  'Rules of the bus whose figures the page of subscriptions reads': RULES_WITH_FIGURES_MAX,
  'Time for which a reading of the bus is kept': READING_KEPT_MS,
  'Open work that a page of the console looks at': WORK_AT_HAND_MAX,
  'Failed operations that a page of the console looks at': FAILED_READ_MAX,
  'Open incidents in which a page looks for older failures': INCIDENTS_READ_MAX,
  'Latest operations of a project that may have settled an older failure': LATER_OPERATIONS_MAX,
  'Later operations that one page reads for that': LATER_READ_MAX,
  'Changes that a search and the list of projects look at': CHANGES_QUERIES_MAX * KEYS_PER_QUERY,
  'Projects that the console lists': PROJECTS_QUERIES_MAX * KEYS_PER_QUERY,
  'Tokens of one account': 100 * TOKEN_PAGES_MAX,
  'Requests of all callers in a second': COMMANDS_PER_SECOND,
  "Time for which a request is held for its caller's limit": HOLD_MS,
  'Callers whose token is remembered': CACHE_ENTRIES_MAX,
  'Callers whose share of the rate limit is remembered': CALLERS_MAX,
  'Time for which audit records are kept': 1_000 * KEPT_SECONDS,
  'Documentation that one instance sends in a minute': DOCUMENTATION_BYTES_PER_MINUTE,
  'Roles of `api.sign_in.roles`': ROLES_MAX,
  'Projects of one role': ROLE_PROJECTS_MAX,
  'Values of the claim with the roles': GROUPS_MAX,
  'Time from the start of a sign-in to the return': SIGN_IN_MS_MAX,
  'Time for one answer of the provider': 1_000 * PROVIDER_TIMEOUT_SECONDS,
  'Answer of the provider': PROVIDER_ANSWER_BYTES_MAX,
  'Sealed ID token kept for signing out at the provider': COOKIE_CHARACTERS_MAX,
  "Session of an issuer's token, with its projects": COOKIE_CHARACTERS_MAX,
  'Commands in the line of one project': LINE_ENTRIES_MAX,
  'Commands of one account that wait for a person': LINE_ENTRIES_MAX,
  'Commands of one caller that wait for a person': LINE_ENTRIES_OF_CALLER_MAX,
  'Hours that a command waits for a person': APPROVAL_MS / 3_600_000,
  'Rules of one token that say what a person approves': APPROVAL_RULES_MAX,
  'Commands in the lines of one account': WAITING_COMMANDS_MAX,
  'Commands of one caller in the line of one project': LINE_ENTRIES_OF_CALLER_MAX,
  'Commands of one caller in the lines of one account': WAITING_COMMANDS_OF_CALLER_MAX,
  'Time for which a project that only the upstream knows is remembered': KNOWN_MS,
  'Query and body of a command that waits': REQUEST_BYTES_MAX,
  'Deadline of a command (`bridge-deadline`)': 1_000 * DEADLINE_SECONDS_MAX,
  'Time for which a command and its answer are kept': COMMAND_KEPT_MS,
  'Time for which a `--settle` command waits for a lock': SETTLE_LOCK_MS_MAX,
  'Time after which a `--settle` command is answered': SETTLE_MS_MAX,
  'Pause of a line until its message is received again': HANDED_BACK_MS_MAX,
  'Token of a waiting task (`Bridge-Callback`)': TASK_TOKEN_CHARACTERS_MAX,
  'Time after which the end of a command counts as unknown': ENDED_WITHIN_MS,
  'Time after which a waiting task is given up': DELIVERED_WITHIN_MS,
  'Operations that a waiting task is told': TOLD_OPERATIONS_MAX,
  'State machines whose tasks are ended': STATE_MACHINES_MAX,
  'Lines that one sweep wakes': SWEPT_LINES_MAX,
  'Samples that wait for one write': WAITING_SAMPLES_MAX,
  'Time for which a sample of an account waits': ACCOUNT_WAIT_MS_MAX,
  'Time for which a sample of a project waits': PROJECT_WAIT_MS_MAX,
  'Actions of one day of an account or project': ACTIONS_MAX,
  'Time for which a beginning or failure waits for the counts of its hour': CHANGE_WAIT_MS_MAX,
  'Samples, beginnings and failures of one account that wait': WAITING_VALUES_MAX,
  'Projects with failures in the counts of one hour': FAILING_PROJECTS_MAX,
  'Names of projects in one of 32 items': NAMES_PER_ITEM_MAX,
  'Days of usage kept of a project': USAGE_DAYS_MAX,
  'Longest duration that insights distinguish': VALUE_MAX,
  'Projects whose usual durations one process remembers': REMEMBERED_MAX,
  'Pause that a channel may ask for': CHANNEL_PAUSE_MS_MAX,
  'Time after which a silent channel is deaf': DEAF_MS,
  'Time between two reminders': REMINDER_MS,
  'Active mutes of one account': ACTIVE_MUTES_MAX,
  'Duration of a mute': MUTE_MS_MAX,
  'Open incidents that an alert is compared with': OPEN_INCIDENTS_MAX,
  'Muted alerts that one digest counts': MUTED_COUNTED_MAX,
  'Failures of the last hour in the record of an incident': FAILURES_KEPT_MAX,
  'Messages that one round edits to name who takes care': EDITS_MAX,
  'Time between two edits of lists on Slack': LIST_EDITS_APART_MS,
  'Lists on Slack that are edited at a time': LISTS_EDITED_MAX,
  'Time for which one invocation of the notifier sends': SEND_BUDGET_MS,
  ...Object.fromEntries(
    CHANNEL_KINDS.flatMap(({ guide }) => guide.bounds.map(({ name, value }) => [name, value] as const)),
  ),
};

const factors: Readonly<Record<string, number>> = {
  kB: 1_000,
  s: 1_000,
  min: 60_000,
  hours: 3_600_000,
  days: 24 * 3_600_000,
};
const page = readFileSync('docs/limits.md', 'utf8');
const rows = [...page.matchAll(/^\| (.+?) \| ([\d,]+)(?: (.+?))? \| .* \| (.+) \|$/gm)];

test('docs/limits.md has a row for every bound, with the value of its constant', () => {
  const shown = rows.map(
    ([, name = '', number = '', unit = '']) =>
      [name, Number(number.replaceAll(',', '')) * (factors[unit] ?? 1)] as const,
  );

  expect(Object.fromEntries(shown)).toEqual(constants);
  expect(shown).toHaveLength(Object.keys(constants).length);
});

test.each(BOUND_NAMES)('the article of the alarm bound-met names the bound %s', (name) => {
  const [, article = ''] = readFileSync('docs/operations.md', 'utf8').split('\n## bound-met\n');

  expect(article.split('\n## ')[0]).toContain(`\`${name}\``);
});

test.each(BOUND_NAMES)('docs/limits.md has one row whose signal is the bound %s of the poller', (name) => {
  const signals = rows.map(([, , , , signal = '']) => signal);

  expect(signals.filter((signal) => signal.includes(`bound: ${name}\``))).toHaveLength(1);
});
