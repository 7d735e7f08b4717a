/** Judges the list of projects, the computes, the refusals and the headers. */

import * as z from 'zod';
import type { Evidence, ListPage, Reply } from './evidence.ts';
import { type Judgement, type Line, line } from './line.ts';

export function serviceLines(evidence: Evidence): readonly Line[] {
  const { projectPages, withoutKey, wrongKey, unknownProject, unknownOperation, malformedCursor } = evidence;
  return [
    line(
      '5 projects cursor',
      'The cursor of the projects is the id of the last one.',
      judgeProjectCursor(projectPages),
    ),
    line(
      '5 projects order',
      'A page of projects does not repeat the page before it.',
      judgeProjectRepetition(projectPages),
    ),
    line('5 hints', `A project has ${HINTS.join(', ')}.`, judgeHints(projectPages)),
    line(
      '6 computes',
      'A compute is init, active or idle, and may have a pending_state.',
      judgeComputes(evidence.computes),
    ),
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
    line(
      '4 request id',
      'Every answer has a header with the id of the request.',
      judgeRequestId(evidence.replies),
    ),
    line(
      '4 rate limit headers',
      'No answer says how much of the rate limit is left.',
      judgeLimitHeaders(evidence.replies),
    ),
    line(
      '1 no ETag',
      'No answer can be asked for conditionally.',
      judgeHeader(evidence.replies, ['etag', 'last-modified']),
    ),
    line(
      '4 refusals',
      'A reader within 30 requests a minute is not refused with 429.',
      judgeThrottled(evidence.replies),
    ),
    line('4 lock', 'A held project refuses commands with 423.', {
      holds: undefined,
      found: 'a run that only reads cannot see it',
    }),
  ];
}

const HINTS = ['id', 'updated_at', 'created_at'];
const ACTIVITY = ['compute_last_active_at', 'active_time', 'cpu_used_sec', 'synthetic_storage_size'];

function judgeProjectCursor(pages: readonly ListPage[]): Judgement {
  const pairs = pages.filter(({ cursor, rows }) => cursor !== undefined && rows.length > 0);
  const fitting = pairs.filter(({ cursor, rows }) => rows.at(-1)?.['id'] === cursor);
  return {
    holds: pairs.length === 0 ? undefined : fitting.length === pairs.length,
    found: `${pairs.length} cursors, ${fitting.length} of them the last id`,
  };
}

function judgeProjectRepetition(pages: readonly ListPage[]): Judgement {
  const [first, second] = pages;
  if (first === undefined || second === undefined)
    return { holds: undefined, found: `${pages.length} pages` };
  const ids = new Set(first.rows.map(({ id }) => id));
  const count = second.rows.filter(({ id }) => ids.has(id)).length;
  return { holds: count === 0, found: `${count} repeated projects` };
}

function judgeHints(pages: readonly ListPage[]): Judgement {
  const rows = pages.flatMap((page) => page.rows);
  const lacking = HINTS.filter((name) => rows.some((row) => row[name] === undefined));
  const activity = ACTIVITY.filter((name) => rows.some((row) => row[name] !== undefined));
  return {
    holds: rows.length === 0 ? undefined : lacking.length === 0,
    found: `${rows.length} projects; missing: ${lacking.join(', ') || 'none'}; hints of activity: ${activity.join(', ') || 'none'}`,
  };
}

const computes = z.looseObject({
  endpoints: z.array(z.looseObject({ current_state: z.string(), pending_state: z.string().optional() })),
});

function judgeComputes(reply: Reply | undefined): Judgement {
  const parsed = computes.safeParse(reply?.json).data?.endpoints;
  if (parsed === undefined || parsed.length === 0) return { holds: undefined, found: 'no compute' };
  const states = [
    ...new Set(
      parsed.flatMap(({ current_state, pending_state }) => [current_state, pending_state ?? []].flat()),
    ),
  ];
  const isKnown = states.every((state) => ['init', 'active', 'idle'].includes(state));
  return {
    holds: isKnown,
    found: `${parsed.length} computes, in the states ${states.toSorted().join(', ')}`,
  };
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
