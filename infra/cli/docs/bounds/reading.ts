/** Lists the bounds of the API, the console and the feed, for docs/limits.md. */

import { FILTERED_PAGES_MAX } from '../../../../functions/api/bridge/operation-routes.ts';
import { PAGE_MAX } from '../../../../functions/api/bridge/page-query.ts';
import { DOCUMENTATION_BYTES_PER_MINUTE } from '../../../../functions/api/documentation/kept-document.ts';
import {
  CACHE_ENTRIES_MAX,
  CREDENTIALS_CHARACTERS_MAX,
} from '../../../../functions/api/identity/authenticate.ts';
import {
  CHANGES_QUERIES_MAX,
  KEYS_PER_QUERY,
  PROJECTS_QUERIES_MAX,
} from '../../../../functions/api/read-model/account-activity.ts';
import { AUDIT_QUERIES_MAX, RECORDS_PER_QUERY } from '../../../../functions/api/read-model/audit-reader.ts';
import { ITEMS_PER_QUERY, QUERIES_MAX } from '../../../../functions/api/read-model/event-feed.ts';
import { TOLD_MAX } from '../../../../functions/api/read-model/feed-position.ts';
import { OPEN_OPERATIONS_MAX, WORK_AT_HAND_MAX } from '../../../../functions/api/read-model/open-work.ts';
import {
  BODY_BYTES_MAX,
  JSON_DEPTH_MAX,
  PASSED_BODY_BYTES_MAX,
} from '../../../../functions/api/serving/read-request.ts';
import { RECORDED_REFUSALS_MAX } from '../../../../functions/api/serving/refusal-counts.ts';
import { REQUEST_MS_MAX } from '../../../../functions/api/serving/serve-route.ts';
import { WAIT_SECONDS_MAX } from '../../../../functions/api/serving/wait-for.ts';
import { LIST_PAGES_MAX } from '../../../../shared/callers/token-store.ts';
import { KEPT_SECONDS } from '../../../../shared/commands/audit-log.ts';
import { KEPT_MS } from '../../../../shared/commands/idempotency-store.ts';
import { BODY_CHARACTERS_MAX } from '../../../../shared/commands/kept-answer.ts';
import { CALLERS_MAX } from '../../../../shared/commands/permits/shared-uses.ts';
import { RECORD_MS_MAX } from '../../../../shared/commands/record-started.ts';
import { SECRET_ARN_CHARACTERS_MAX } from '../../../../shared/config/secret-arn.ts';
import { ACCOUNTS_MAX } from '../../../config/account-settings.ts';
import { LANES_MAX, OWN_LANES_MAX, POLLED_PROJECTS_MAX } from '../../../config/deployment-bounds.ts';
import type { BoundGroup } from './bound.ts';

export const readingBounds: BoundGroup = {
  title: 'API, console and feed',
  bounds: [
    {
      name: 'Lanes of one bridge',
      value: LANES_MAX,
      unit: 'lanes',
      reason:
        'Each has a function and a schedule, and a template of CloudFormation has at most 500 resources.',
      whenMet: 'A configuration with more is refused.',
      signal: 'The configuration is refused with a sentence.',
    },
    {
      name: 'Lanes of one bridge that poll only pinned accounts',
      value: OWN_LANES_MAX,
      unit: 'lanes',
      reason: 'A person has chosen the memory of each.',
      whenMet: 'A configuration with more is refused.',
      signal: 'The configuration is refused with a sentence.',
    },
    {
      name: 'Accounts of one bridge',
      value: ACCOUNTS_MAX,
      unit: 'accounts',
      reason: 'The role of each function names every account, and the size of an IAM policy is limited.',
      whenMet: 'A configuration with more is refused.',
      signal: 'The configuration is refused with a sentence.',
    },
    {
      name: "Body of a request to the bridge's own routes",
      value: BODY_BYTES_MAX,
      unit: 'bytes',
      reason: 'The largest has a few hundred bytes.',
      whenMet: 'The request is refused.',
      signal: 'Answer 413 with both sizes',
    },
    {
      name: 'Body of a call that is passed on, also of a command that waits in line',
      value: PASSED_BODY_BYTES_MAX,
      unit: 'bytes',
      reason:
        'The largest known bodies have tens of kilobytes. Sealed, the whole request must fit into one item of the table.',
      whenMet: 'The request is refused.',
      signal: 'Answer 413 with both sizes',
    },
    {
      name: 'Depth of a JSON body',
      value: JSON_DEPTH_MAX,
      unit: 'levels',
      reason: 'The deepest body of the specification has three levels.',
      whenMet: 'The request is refused.',
      signal: 'Answer 400 with the field',
    },
    {
      name: 'Credentials of a request',
      value: CREDENTIALS_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'Servers refuse longer headers.',
      whenMet: 'The request is refused.',
      signal: 'Answer 401',
    },
    {
      name: 'Time of one request',
      value: REQUEST_MS_MAX,
      unit: 'ms',
      reason: 'API Gateway gives up after 30 s.',
      whenMet:
        'The request to the upstream is cancelled. A command that was already sent may have been carried out.',
      signal: 'Answer 504',
    },
    {
      name: 'Time in which the operations of a command are recorded before its answer leaves',
      value: RECORD_MS_MAX,
      unit: 'ms',
      reason:
        'The caller must not wait longer for its answer, and the poller finds the operations in any case.',
      whenMet: 'The answer is sent. The next poll publishes the events.',
      signal: 'Log line `command.not_recorded`',
    },
    {
      name: 'Answer that is kept under an `Idempotency-Key`',
      value: BODY_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'An item of the table has at most 400 kB.',
      whenMet: 'Only the status is kept.',
      signal: 'The repeated answer has no body.',
    },
    {
      name: 'Time for which an `Idempotency-Key` is known',
      value: KEPT_MS,
      unit: 'ms',
      reason: "A client's queue may be stuck overnight.",
      whenMet: 'The key counts as new.',
      signal: 'No signal: it is documented with the header.',
    },
    {
      name: 'Rows of one page of a list',
      value: PAGE_MAX,
      unit: 'rows',
      reason: 'A page is read from the table at once.',
      whenMet: 'A request for more rows is refused. A longer list continues with a cursor.',
      signal: 'Answer 400; `cursor` in the answer',
    },
    {
      name: 'Pages that one request with a filter reads',
      value: FILTERED_PAGES_MAX,
      unit: 'pages',
      reason: 'A filter that matches few rows must not read a whole project.',
      whenMet: 'The answer has fewer rows than the page size, or none.',
      signal: '`cursor` in the answer',
    },
    {
      name: 'Items that one request of the feed reads',
      value: QUERIES_MAX * ITEMS_PER_QUERY,
      unit: 'items',
      reason: 'A filter that matches no event must not read a whole account.',
      whenMet: 'The answer has fewer events than the page size, or none.',
      signal: '`cursor` in the answer',
    },
    {
      name: 'Records that one page of the audit reads',
      value: AUDIT_QUERIES_MAX * RECORDS_PER_QUERY,
      unit: 'records',
      reason: 'A filter that matches no record must not read 400 days of records.',
      whenMet: 'The answer has fewer records than the page size, or none.',
      signal: '`cursor` in the answer',
    },
    {
      name: 'Refusals of one caller in a minute that have audit records of their own, on each instance',
      value: RECORDED_REFUSALS_MAX,
      unit: 'records',
      reason:
        'A program that goes on after it was refused must not fill the table, which keeps a record for 400 days.',
      whenMet: 'One record says how many more were refused in that minute.',
      signal: 'The record `countedRefusals`; the figure `ApiRefusals` has each refusal',
    },
    {
      name: 'Projects that the configuration names, in all accounts together',
      value: POLLED_PROJECTS_MAX,
      unit: 'projects',
      reason: 'The projects are part of the template, whose total size is limited to 1 MB.',
      whenMet: 'The configuration is refused before anything is deployed.',
      signal: 'The error of `cdk synth`',
    },
    {
      name: 'Length of the ARN of a secret',
      value: SECRET_ARN_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'The policies of a role name up to 30 secrets, and IAM allows 10,240 characters in total.',
      whenMet: 'The configuration is refused before anything is deployed.',
      signal: 'The error of `cdk synth`',
    },
    {
      name: 'Events that a cursor of the feed remembers',
      value: TOLD_MAX,
      unit: 'events',
      reason: 'The cursor must fit into a URL.',
      whenMet: 'If more events come within half a minute, some are returned twice. None is missing.',
      signal: 'The `id` of a repeated event is the same.',
    },
    {
      name: 'Seconds that `wait` waits',
      value: WAIT_SECONDS_MAX,
      unit: 's',
      reason: 'API Gateway gives up after 30 s.',
      whenMet: 'The answer shows the state at that time.',
      signal: 'The state in the answer',
    },
    {
      name: 'Open operations that the console and health read at once',
      value: OPEN_OPERATIONS_MAX,
      unit: 'operations',
      reason: 'With more open operations, a longer page would not help to find the cause.',
      whenMet: 'The console lists only these operations, and counts unpublished events only among them.',
      signal: '`open_operation_count` of the status is larger than the list; `UnpublishedAgeMs`',
    },
    {
      name: 'Items of open work that a page of the console looks at',
      value: WORK_AT_HAND_MAX,
      unit: 'items',
      reason: 'Every page needs at most 300 reads of the table, with thousands of projects, too.',
      whenMet:
        'The page shows these operations and the count of all. What has failed is found by the counts of hours, too.',
      signal: 'The page says "at least"',
    },
    {
      name: 'Changes that a search and the list of projects look at',
      value: CHANGES_QUERIES_MAX * KEYS_PER_QUERY,
      unit: 'changes',
      reason: 'They are read from an index of keys in ten queries.',
      whenMet:
        'The page names the time before which it did not look. The page of a project has all of its operations.',
      signal: 'The time on the page',
    },
    {
      name: 'Projects that the console lists',
      value: PROJECTS_QUERIES_MAX * KEYS_PER_QUERY,
      unit: 'projects',
      reason: 'They are read from an index of keys in twenty queries.',
      whenMet: 'The page says that there are more. Their own pages work, and the API lists all.',
      signal: 'The sentence above the list',
    },
    {
      name: 'Tokens of one account',
      value: 100 * LIST_PAGES_MAX,
      unit: 'tokens',
      reason: 'It is more than a person can keep track of.',
      whenMet: 'The list of tokens ends there. Tokens beyond it still work.',
      signal: 'The list has exactly this length.',
    },
    {
      name: 'Callers whose token is remembered for seconds',
      value: CACHE_ENTRIES_MAX,
      unit: 'callers',
      reason: 'The memory saves reads of the table.',
      whenMet: 'The token that was remembered longest is read again.',
      signal: 'No signal: it costs only one more read.',
    },
    {
      name: 'Callers whose share of the rate limit is remembered',
      value: CALLERS_MAX,
      unit: 'callers',
      reason: 'It bounds the memory of an instance.',
      whenMet:
        'The caller that was remembered longest starts with a full bucket. The limit of the account is still kept.',
      signal: 'No signal: the limit of the account is kept.',
    },
    {
      name: 'Time for which audit records are kept',
      value: 1_000 * KEPT_SECONDS,
      unit: 'ms',
      reason: 'It covers an audit that takes place once a year, with a month to spare.',
      whenMet: 'The record leaves the table.',
      signal: 'No signal: the oldest record shows it.',
    },
    {
      name: 'Documentation that one instance sends in a minute, to callers and strangers together',
      value: DOCUMENTATION_BYTES_PER_MINUTE,
      unit: 'bytes',
      reason:
        'Anybody may read it, and data that leaves AWS is paid for. It is enough for more than a hundred compressed documents.',
      whenMet: 'The answer is 429 with `Retry-After`. An answer of 304 is always given.',
      signal: 'log line `request.refused` with `reason: rate-limited`; the figure `ApiRefusals.rate-limited`',
    },
  ],
};
