/** Judges the refusals of the upstream, and the headers of all its answers. */

import * as z from 'zod';
import type { Evidence, Reply } from './evidence.ts';
import { type Judgement, type Line, line } from './line.ts';

export function refusalLines(evidence: Evidence): readonly Line[] {
  const { withoutKey, wrongKey, unknownProject, unknownOperation, malformedCursor, replies } = evidence;
  return [
    line('4 no key', 'Without a key the answer is 401.', judgeRefusal(withoutKey, [401])),
    line('4 wrong key', 'With a wrong key the answer is 401 or 403.', judgeRefusal(wrongKey, [401, 403])),
    line(
      '4 unknown project',
      'A project that does not exist is a 404 with a message.',
      judgeRefusal(unknownProject, [404]),
    ),
    line(
      '4 unknown operation',
      'An operation that does not exist is a 404 with a message.',
      judgeRefusal(unknownOperation, [404]),
    ),
    line(
      '1 malformed cursor',
      'A cursor that is no time is refused with a 4xx.',
      judgeRefusal(malformedCursor, [400, 404, 406, 422]),
    ),
    line('4 request id', 'Every answer has a header with the id of the request.', judgeRequestId(replies)),
    line(
      '4 rate limit headers',
      'No answer says how much of the rate limit is left.',
      judgeLimitHeaders(replies),
    ),
    line(
      '1 no ETag',
      'No answer can be asked for conditionally.',
      judgeHeader(replies, ['etag', 'last-modified']),
    ),
    line(
      '4 refusals',
      'A reader within 30 requests a minute is not refused with 429.',
      judgeThrottled(replies),
    ),
    line('4 lock', 'A held project refuses commands with 423.', {
      holds: undefined,
      found: 'a run that only reads cannot see it',
    }),
  ];
}

const refusal = z.looseObject({ message: z.string(), code: z.string() });

function judgeRefusal(reply: Reply | undefined, statuses: readonly number[]): Judgement {
  if (reply === undefined) return { holds: undefined, found: 'not asked' };
  const hasMessage = refusal.safeParse(reply.json).success;
  return {
    holds: statuses.includes(reply.status) && hasMessage,
    found: `${reply.status}, ${hasMessage ? 'with' : 'without'} code and message`,
  };
}

function judgeRequestId(replies: readonly Reply[]): Judgement {
  const having = replies.filter(({ headers }) =>
    Object.keys(headers).some((name) => name.endsWith('request-id')),
  );
  const names = new Set(
    replies.flatMap(({ headers }) => Object.keys(headers).filter((name) => name.endsWith('request-id'))),
  );
  return {
    holds: replies.length === 0 ? undefined : having.length === replies.length,
    found: `${having.length} of ${replies.length} answers: ${[...names].join(', ') || 'none'}`,
  };
}

function judgeLimitHeaders(replies: readonly Reply[]): Judgement {
  const names = replies.flatMap(({ headers }) =>
    Object.keys(headers).filter((name) => name.includes('ratelimit') || name.includes('rate-limit')),
  );
  return judgeNames(replies, names);
}

function judgeHeader(replies: readonly Reply[], wanted: readonly string[]): Judgement {
  return judgeNames(
    replies,
    replies.flatMap(({ headers }) => wanted.filter((name) => headers[name] !== undefined)),
  );
}

function judgeNames(replies: readonly Reply[], names: readonly string[]): Judgement {
  const found = [...new Set(names)].join(', ') || 'no such header';
  return { holds: replies.length === 0 ? undefined : names.length === 0, found };
}

function judgeThrottled(replies: readonly Reply[]): Judgement {
  const throttled = replies.filter(({ status }) => status === 429);
  const asked = throttled.filter(({ headers }) => headers['retry-after'] !== undefined).length;
  return {
    holds: replies.length === 0 ? undefined : throttled.length === 0,
    found: `${throttled.length} of ${replies.length} answers were 429, ${asked} of them with Retry-After`,
  };
}
