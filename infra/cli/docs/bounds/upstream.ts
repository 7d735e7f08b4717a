/** Bounds of what is sent to the upstream and taken from it. */

import { REQUESTS_PER_MINUTE_MAX } from '../../../../shared/core/rates/account-rate.ts';
import { ATTEMPTS_MAX, PATIENCE_MS, RETRY_AFTER_MS_MAX } from '../../../../shared/core/rates/retry-delay.ts';
import {
  CURSOR_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  TEXT_CHARACTERS_MAX,
} from '../../../../shared/upstream/calls/schemas.ts';
import { ANSWER_BYTES_MAX as PASSED_BYTES_MAX } from '../../../../shared/upstream/forward.ts';
import { ANSWER_BYTES_MAX, TIMEOUT_MS } from '../../../../shared/upstream/send.ts';
import type { BoundGroup } from './bound.ts';

const INTERRUPTED = '`UpstreamFailed`; log line `poll.interrupted`';

export const upstreamBounds: BoundGroup = {
  title: 'Requests to the upstream',
  bounds: [
    {
      name: 'Requests of one account',
      value: REQUESTS_PER_MINUTE_MAX,
      unit: 'requests a minute',
      reason: 'The rate limit of the service.',
      whenMet: 'A configuration that asks for more is refused.',
      signal: 'The configuration is refused with a sentence.',
    },
    {
      name: 'Time for one answer',
      value: TIMEOUT_MS,
      unit: 'ms',
      reason: 'Longer than the slowest list; a connection that is silent for longer is dead.',
      whenMet: 'The request counts as failed and is repeated.',
      signal: `${INTERRUPTED} with \`reason: timeout\``,
    },
    {
      name: 'Size of one answer',
      value: ANSWER_BYTES_MAX,
      unit: 'bytes',
      reason: 'The largest list has a third of a megabyte.',
      whenMet: 'The answer is not read; the project is polled again later.',
      signal: `${INTERRUPTED} with \`reason: malformed_answer\``,
    },
    {
      name: 'Size of one answer that is passed on to a caller',
      value: PASSED_BYTES_MAX,
      unit: 'bytes',
      reason: 'As for the own requests of the bridge.',
      whenMet: 'The caller gets a problem document with status 502.',
      signal: 'The answer itself',
    },
    {
      name: 'Tries of one request',
      value: ATTEMPTS_MAX,
      unit: 'tries',
      reason: 'What still fails then comes back with the next poll.',
      whenMet: 'The poll is interrupted.',
      signal: INTERRUPTED,
    },
    {
      name: 'Pause before a repetition that is waited for',
      value: PATIENCE_MS,
      unit: 'ms',
      reason: 'A longer pause is left to the next turn of the project.',
      whenMet: 'The poll is interrupted; the rate limit stays paused.',
      signal: '`UpstreamThrottled`, with the alarm `upstream-throttled`',
    },
    {
      name: '`Retry-After` that is honoured',
      value: RETRY_AFTER_MS_MAX,
      unit: 'ms',
      reason: 'A longer one is a mistake.',
      whenMet: 'It is taken for this long.',
      signal: '`UpstreamThrottled`, with the alarm `upstream-throttled`',
    },
    {
      name: 'Cursor of a list',
      value: CURSOR_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'It travels in a URL, and proxies refuse long ones.',
      whenMet: 'The answer counts as malformed, and the list is read from its beginning later.',
      signal: `${INTERRUPTED} with \`reason: malformed_answer\``,
    },
    {
      name: 'Names of statuses, actions, branches and computes',
      value: NAME_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'They stand in events and keys.',
      whenMet: 'The name is cut.',
      signal: 'The name has exactly this length.',
    },
    {
      name: 'Text of an error in an answer',
      value: TEXT_CHARACTERS_MAX,
      unit: 'characters',
      reason: 'Records keep less of it.',
      whenMet: 'The text is cut.',
      signal: 'The text has the length that records keep.',
    },
  ],
};
