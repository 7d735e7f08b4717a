/** Describes the answers of a route: its success, the refusals of the upstream, and the problems of the bridge. */

import { PROBLEM_MEDIA_TYPE, PROBLEM_TYPES, type ProblemType } from '../serving/problem.ts';
import { isPassedOn, type Route } from '../serving/route.ts';
import { jsonSchema } from './json-schema.ts';

interface Answer {
  readonly description: string;
  readonly headers?: object;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

/** The upstream refuses with these statuses. Its 401 is about the bridge's own key, and the caller gets a 502 instead. */
const UPSTREAM_REFUSALS: Readonly<Record<number, string>> = {
  400: 'The upstream does not take the request',
  403: 'The upstream does not allow it',
  404: 'The upstream does not find it',
  406: 'The upstream cannot do it for this account',
  409: 'It conflicts with what the upstream has',
  410: 'It is gone from the upstream',
  412: 'What the call needs is not there at the upstream',
  422: 'The upstream cannot do it now',
  423: 'Operations that are under way hold the project',
  429: "The account's rate limit is used up",
  500: 'The upstream failed',
  502: 'The upstream failed',
  503: 'The upstream is not available, and did nothing',
  504: 'The upstream did not end in time',
};

export function answersOf(route: Route): Readonly<Record<string, Answer>> {
  const answers = new Map<number, Answer>();
  for (const [status, answer] of [
    ...successes(route),
    ...inLine(route),
    ...refusalsOf(route),
    ...problems(route),
  ])
    answers.set(status, joined(answers.get(status), answer));
  const documented = Object.fromEntries([...answers].toSorted(([a], [b]) => a - b));
  return isPassedOn(route) ? { ...documented, default: anyOther } : documented;
}

/** A proxy between the bridge and the upstream can answer with anything, and it is passed on. */
const anyOther: Answer = {
  description: 'Any other answer of the upstream, or of a proxy before it, as it came.',
  content: { '*/*': { schema: {} } },
};

function successes(route: Route): readonly (readonly [number, Answer])[] {
  const { status, otherStatuses = [] } = route;
  return [status, ...otherStatuses].map((each) => [each, successOf(route, each)]);
}

function inLine({ lineAnswer }: Route): readonly (readonly [number, Answer])[] {
  if (lineAnswer === undefined) return [];
  const location = { description: 'Where to ask for the command.', schema: { type: 'string' } };
  const schema = jsonSchema(lineAnswer, 'input');
  const description = 'With "Prefer: respond-async", the command waits in the line of its project';
  return [[202, { description, headers: { location }, content: { 'application/json': { schema } } }]];
}

function successOf({ answer, mediaType = 'application/json' }: Route, status: number): Answer {
  const schema = answer && jsonSchema(answer, 'input');
  const isEmpty = status === 204 || schema === undefined || 'not' in schema;
  const description = status < 300 ? 'Success' : 'The same answer about something that is not in order';
  return { description, ...(!isEmpty && { content: { [mediaType]: { schema } } }) };
}

function refusalsOf(route: Route): readonly (readonly [number, Answer])[] {
  if (!isPassedOn(route)) return [];
  return Object.entries(UPSTREAM_REFUSALS).map(([status, description]) => {
    const schema = { $ref: '#/components/schemas/UpstreamError' };
    const headers = headersOf(Number(status));
    const content = { 'application/json': { schema } };
    return [Number(status), { description, ...(headers && { headers }), content }];
  });
}

function headersOf(status: number): object | undefined {
  if (status === 429 || status === 503)
    return { 'retry-after': { description: 'Seconds to wait.', schema: { type: 'string' } } };
  if (status !== 423) return undefined;
  return {
    'bridge-locked-by': {
      description: 'The operations that hold the project, as far as they are known.',
      schema: { type: 'string' },
    },
  };
}

function problems(route: Route): readonly (readonly [number, Answer])[] {
  const schema = { $ref: '#/components/schemas/Problem' };
  return problemsOf(route).map((type) => [
    PROBLEM_TYPES[type].status,
    { description: PROBLEM_TYPES[type].title, content: { [PROBLEM_MEDIA_TYPE]: { schema } } },
  ]);
}

function joined(first: Answer | undefined, second: Answer): Answer {
  if (first === undefined) return second;
  return {
    ...first,
    ...second,
    description: `${first.description}. Or: ${second.description}`,
    content: { ...first.content, ...second.content },
  };
}

function problemsOf(route: Route): readonly ProblemType[] {
  const { access, method, path, furtherProblems = [], isAccountWide = false } = route;
  if (access === 'public') return ['invalid-request', 'internal'];
  const isPassed = isPassedOn(route);
  return [
    'invalid-request',
    'unauthenticated',
    ...(access === 'signed_in' ? [] : (['scope-missing'] as const)),
    ...(isPassed || isAccountWide ? (['account-wide'] as const) : []),
    ...(route.isClosedWhilePaused ? (['account-paused'] as const) : []),
    ...(route.closedUntil === undefined ? [] : (['call-closed'] as const)),
    ...(path.includes('{') || isPassed ? (['not-found'] as const) : []),
    ...(isPassed ? (['rate-limited', 'upstream-unavailable', 'upstream-timeout'] as const) : []),
    ...(isPassed ? [] : (['rate-limited', 'record-unreadable'] as const)),
    ...(method === 'GET' ? [] : (['body-too-large', 'media-type-unsupported'] as const)),
    ...(method === 'GET' || !isPassed ? [] : repeatProblems),
    ...furtherProblems,
    'internal',
  ];
}

/** Only commands that are passed on know an Idempotency-Key. */
const repeatProblems = ['in-progress', 'outcome-unknown', 'secret-already-issued', 'key-reused'] as const;
