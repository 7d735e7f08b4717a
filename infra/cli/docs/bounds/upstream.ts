/** Lists the bounds of what is sent to the upstream and taken from it, for docs/limits.md. */

import { READ_SOCKETS_MAX } from '../../../../functions/api/upstream/pass-read.ts';
import { LIMIT_PER_MINUTE } from '../../../../shared/core/rates/account-rate.ts';
import {
  ATTEMPTS_MAX,
  PAUSE_MS_MAX,
  RETRY_AFTER_MS_MAX,
} from '../../../../shared/core/rates/retry-decision.ts';
import {
  CURSOR_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  TEXT_CHARACTERS_MAX,
} from '../../../../shared/upstream/calls/schemas.ts';
import { ANSWER_BYTES_MAX as PASSED_BYTES_MAX } from '../../../../shared/upstream/forward.ts';
import { ANSWER_BYTES_MAX } from '../../../../shared/upstream/send-and-parse.ts';
import { TIMEOUT_MS } from '../../../../shared/upstream/send-with-key.ts';
import type { BoundGroup } from './bound.ts';

const INTERRUPTED = '`UpstreamFailed`; log line `poll.interrupted`';

export const upstreamBounds: BoundGroup = {
  title: 'Requests to the upstream',
  bounds: [
    {
      name: 'Requests of one account',
      value: LIMIT_PER_MINUTE,
      unit: 'requests a minute',
      reason:
        'The rate limit of the service. `limit_requests_per_minute` raises it together with the service, up to 100,000.',
      whenMet: 'A configuration that asks for more is refused.',
      signal: 'The configuration is refused with a sentence.',
    },
    {
      name: "Smallest part of the commands' limit that an instance sends while the table does not count",
      value: 1,
      unit: 'request a minute',
      reason:
        'Without the table no instance knows of the others, so each takes the limit divided by the number of instances. The number is `reserved_concurrency.api`, and without it `api.requests_per_second`, because a request that does not wait takes less than a second; the worker adds two.',
      whenMet:
        'An instance with a smaller part sends nothing. Beyond its part the caller is answered with 429.',
      signal: 'Log line `usage.not_noted`',
    },
    {
      name: 'Sockets of the API for reads of callers',
      value: READ_SOCKETS_MAX,
      unit: 'sockets',
      reason:
        'On Lambda a process serves one request at a time. On one machine a process serves all callers, and an answer may have five megabytes.',
      whenMet: 'Further reads wait for a socket, at most for the ten seconds that a request may take.',
      signal: 'log line `request.failed` for each read that has waited in vain',
    },
    {
      name: 'Time for one answer',
      value: TIMEOUT_MS,
      unit: 'ms',
      reason:
        'It is longer than the slowest list takes. A connection that is silent for longer is considered broken.',
      whenMet: 'The request counts as failed and is repeated.',
      signal: `${INTERRUPTED} with \`reason: timeout\``,
    },
    {
      name: 'Size of one answer',
      value: ANSWER_BYTES_MAX,
      unit: 'bytes',
      reason: 'The largest list is a third of a megabyte.',
      whenMet: 'The rest of the answer is not read. The project is polled again later.',
      signal: `${INTERRUPTED} with \`reason: malformed_answer\``,
    },
    {
      name: 'Size of one answer that is passed on to a caller',
      value: PASSED_BYTES_MAX,
      unit: 'bytes',
      reason: "It is the bound of the bridge's own requests.",
      whenMet: 'The caller gets a problem document with status 502.',
      signal: 'The answer itself',
    },
    {
      name: 'Tries of one request',
      value: ATTEMPTS_MAX,
      unit: 'tries',
      reason: 'If the request still fails, the next poll repeats it.',
      whenMet: 'The poll is interrupted.',
      signal: INTERRUPTED,
    },
    {
      name: 'Pause before a repetition that is waited for',
      value: PAUSE_MS_MAX,
      unit: 'ms',
      reason: 'After a longer pause the project is polled again in its normal turn.',
      whenMet: 'The poll is interrupted, and the account sends nothing until the pause is over.',
      signal: '`UpstreamThrottled`, with the alarm `upstream-throttled`',
    },
    {
      name: '`Retry-After` that is honoured',
      value: RETRY_AFTER_MS_MAX,
      unit: 'ms',
      reason: 'A longer pause is considered a mistake.',
      whenMet: 'The bridge pauses for this long, and then one request tries again.',
      signal: '`UpstreamThrottled`, with the alarm `upstream-throttled`',
    },
    {
      name: 'Cursor of a list',
      value: CURSOR_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'The cursor is part of a URL, and proxies refuse long URLs.',
      whenMet: 'The answer counts as malformed. The list is read from its beginning later.',
      signal: `${INTERRUPTED} with \`reason: malformed_answer\``,
    },
    {
      name: 'Names of statuses, actions, branches and computes',
      value: NAME_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'The names are part of events and keys.',
      whenMet: 'The name is cut.',
      signal: 'The name has exactly this length.',
    },
    {
      name: 'Text of an error in an answer',
      value: TEXT_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'Records keep an even shorter text.',
      whenMet: 'The text is cut.',
      signal: 'The text has exactly the length that records keep.',
    },
  ],
};
