/**
 * Judges what was seen of the upstream. Each line of the report has one assumption about it and what was seen of
 * that: on the list of projects and the computes, the list of operations and its rows, and the refusals and the
 * headers of all answers.
 */

import * as z from 'zod';
import type { Evidence, ListPage, Reply } from './evidence.ts';

export interface Line {
  /** The number of the section in the notes on the upstream, and a short name. */
  readonly id: string;
  readonly assumption: string;
  readonly verdict: 'seen' | 'not seen' | 'different';
  /** What was seen, in counts and forms: never an id, a name or a key of the account. */
  readonly found: string;
}

interface Judgement {
  /** Undefined means that there was nothing to judge by. */
  readonly holds: boolean | undefined;
  readonly found: string;
}

function line(id: string, assumption: string, { holds, found }: Judgement): Line {
  const verdict = holds === undefined ? 'not seen' : holds ? 'seen' : 'different';
  return { id, assumption, verdict, found };
}

export function projectLines(evidence: Evidence): readonly Line[] {
  const { projectPages, computes: reply } = evidence;
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
      judgeComputes(reply),
    ),
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

type Row = ListPage['rows'][number];

export function operationLines(evidence: Evidence): readonly Line[] {
  const pages = evidence.operationPages;
  const rows = pages.flatMap((page) => page.rows);
  return [
    line('1 order', 'The list has the newest operation first.', judgeOrder(rows)),
    line('1 limit', 'A page has at most as many rows as were asked for.', judgeLimit(pages)),
    line(
      '1 full pages',
      'A page that another one follows has as many rows as were asked for.',
      judgeFull(pages),
    ),
    line(
      '1 cursor form',
      'The cursor is the creation time of the last row, in microseconds.',
      judgeCursor(pages),
    ),
    line('1 no repetition', 'A page does not repeat rows of the page before it.', judgeRepetition(pages)),
    line('1 cursor at the end', 'The last page has a cursor although nothing follows.', judgeEnd(pages)),
    line('1 empty page', 'An empty page has an empty cursor, or none.', judgeEmpty(evidence.afterTheEnd)),
    line('1 no limit', 'Without a limit, all operations are listed.', judgeUnlimited(evidence)),
    line('2 fields', `A row has ${REQUIRED.join(', ')}.`, judgeFields(rows)),
    line('2 whole seconds', 'created_at and updated_at show whole seconds, in UTC.', judgeTimes(rows)),
    line(
      '2 ids',
      'The id of an operation is a UUID.',
      judgeEach(rows, ({ id }) => UUID.test(String(id))),
    ),
    line('2 statuses', `The status is one of ${STATUSES.join(', ')}.`, judgeStatuses(rows)),
    line(
      '2 failures',
      'failures_count counts failed attempts, and the id of the operation stays.',
      judgeFailures(rows),
    ),
    line(
      '2 single',
      'An operation that is asked for by its id has the fields of its row.',
      judgeSingle(evidence, rows),
    ),
  ];
}

const REQUIRED = [
  'id',
  'project_id',
  'action',
  'status',
  'failures_count',
  'created_at',
  'updated_at',
  'total_duration_ms',
];

const STATUSES = [
  'scheduling',
  'running',
  'finished',
  'failed',
  'error',
  'cancelling',
  'cancelled',
  'skipped',
];

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const WHOLE_SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const CURSOR_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

function judgeOrder(rows: readonly Row[]): Judgement {
  const times = rows.map(({ created_at }) => String(created_at));
  const wrongCount = times.filter((time, index) => index > 0 && time > (times[index - 1] ?? '')).length;
  const holds = new Set(times).size < 2 ? undefined : wrongCount === 0;
  return { holds, found: `${rows.length} rows, ${wrongCount} of them newer than the row before` };
}

function judgeLimit(pages: readonly ListPage[]): Judgement {
  const over = pages.filter(({ rows, limit }) => limit !== undefined && rows.length > limit);
  return {
    holds: pages.length === 0 ? undefined : over.length === 0,
    found: `${pages.length} pages, ${over.length} of them longer`,
  };
}

function judgeFull(pages: readonly ListPage[]): Judgement {
  const followed = pages.filter((_, index) => (pages[index + 1]?.rows.length ?? 0) > 0);
  const short = followed.filter(({ rows, limit }) => limit !== undefined && rows.length < limit);
  return {
    holds: followed.length === 0 ? undefined : short.length === 0,
    found: `${followed.length} pages that another one follows, ${short.length} of them shorter`,
  };
}

function judgeCursor(pages: readonly ListPage[]): Judgement {
  const pairs = pages.flatMap(({ rows, cursor }) =>
    cursor === undefined ? [] : [{ cursor, last: rows.at(-1) }],
  );
  const fitting = pairs.filter(
    ({ cursor, last }) =>
      CURSOR_TIME.test(cursor) && cursor.slice(0, 19) === String(last?.['created_at']).slice(0, 19),
  );
  return {
    holds: pairs.length === 0 ? undefined : fitting.length === pairs.length,
    found: `${pairs.length} cursors, ${fitting.length} of them of this form`,
  };
}

function judgeRepetition(pages: readonly ListPage[]): Judgement {
  const repeated = pages.flatMap(({ rows }, index) => {
    const before = new Set((pages[index - 1]?.rows ?? []).map(({ id }) => id));
    return rows.filter(({ id }) => before.has(id));
  });
  const holds = pages.length < 2 ? undefined : repeated.length === 0;
  return { holds, found: `${pages.length} pages, ${repeated.length} repeated rows` };
}

function judgeEnd(pages: readonly ListPage[]): Judgement {
  const [last, after] = [pages.at(-2), pages.at(-1)];
  if (after === undefined || after.rows.length > 0)
    return { holds: undefined, found: 'the run did not reach the end of the list' };
  return { holds: last?.cursor !== undefined, found: 'the page before the empty one has a cursor' };
}

function judgeEmpty(page: ListPage | undefined): Judgement {
  if (page === undefined || page.rows.length > 0) return { holds: undefined, found: 'no empty page' };
  const { cursor = '' } = page;
  return { holds: cursor === '', found: cursor === '' ? 'it has none' : 'it has a cursor' };
}

/** A cap would show only in a project with more operations than the cap. */
function judgeUnlimited({ unlimited, operationPages }: Evidence): Judgement {
  const paged = new Set(operationPages.flatMap(({ rows }) => rows.map(({ id }) => id)));
  if (unlimited === undefined || paged.size === 0) return { holds: undefined, found: 'no such answer' };
  const listed = new Set(unlimited.rows.map(({ id }) => id));
  const lackingCount = [...paged].filter((id) => !listed.has(id)).length;
  return {
    holds: lackingCount === 0,
    found: `${unlimited.rows.length} rows at once, ${lackingCount} rows of the pages missing`,
  };
}

function judgeFields(rows: readonly Row[]): Judgement {
  const lacking = REQUIRED.filter((name) => rows.some((row) => row[name] === undefined));
  const optional = ['branch_id', 'endpoint_id', 'error', 'retry_at'];
  const further = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter(
    (name) => !REQUIRED.includes(name),
  );
  const unknown = further.filter((name) => !optional.includes(name));
  return {
    holds: rows.length === 0 ? undefined : lacking.length === 0,
    found: `${rows.length} rows; missing in some: ${namesOr('none', lacking)}; also there: ${namesOr('none', further)}; new to us: ${namesOr('none', unknown)}`,
  };
}

function judgeTimes(rows: readonly Row[]): Judgement {
  return judgeEach(rows, ({ created_at, updated_at }) =>
    [created_at, updated_at].every((time) => WHOLE_SECONDS.test(String(time))),
  );
}

function judgeStatuses(rows: readonly Row[]): Judgement {
  const found = [...new Set(rows.map(({ status }) => String(status)))].toSorted();
  const unknown = found.filter((status) => !STATUSES.includes(status));
  return {
    holds: rows.length === 0 ? undefined : unknown.length === 0,
    found: `statuses ${namesOr('none', found)}; new to us: ${namesOr('none', unknown)}`,
  };
}

function judgeFailures(rows: readonly Row[]): Judgement {
  const failed = rows.filter(({ failures_count }) => Number(failures_count) > 0);
  const isCounted = failed.every(({ failures_count }) => Number.isSafeInteger(failures_count));
  const holds = failed.length === 0 ? undefined : isCounted;
  return { holds, found: `${failed.length} operations with failed attempts` };
}

function judgeSingle({ single }: Evidence, rows: readonly Row[]): Judgement {
  const operation = (single?.json as { readonly operation?: Row } | undefined)?.operation;
  const row = rows[0];
  if (single === undefined || row === undefined) return { holds: undefined, found: 'no operation' };
  const other = Object.keys(row).filter((name) => operation?.[name] === undefined);
  return {
    holds: operation?.['id'] === row['id'] && other.length === 0,
    found: `status ${single.status}; fields that only the list has: ${namesOr('none', other)}`,
  };
}

function judgeEach(rows: readonly Row[], fits: (row: Row) => boolean): Judgement {
  const otherCount = rows.filter((row) => !fits(row)).length;
  const holds = rows.length === 0 ? undefined : otherCount === 0;
  return { holds, found: `${rows.length} rows, ${otherCount} of them different` };
}

function namesOr(none: string, names: readonly string[]): string {
  return names.length === 0 ? none : names.join(', ');
}

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
