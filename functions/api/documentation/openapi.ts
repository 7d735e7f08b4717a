/**
 * Builds the OpenAPI 3.1 document from the table of routes: what each route takes, and what it answers. It says what
 * the routes say of themselves, and nothing else.
 */

import * as z from 'zod';
import { SCOPES } from '../../../shared/callers/scopes.ts';
import { idNamesOf, idSchemaOf } from '../../../shared/upstream/calls/schemas.ts';
import { PROBLEM_MEDIA_TYPE, PROBLEM_TYPES, type ProblemType } from '../serving/problem.ts';
import { isPassedOn, type Route } from '../serving/route.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: object;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: object;
  readonly security: readonly object[];
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, object>>;
  readonly security?: readonly object[];
  readonly 'x-required-scope'?: string;
}

const GROUPS = {
  'Upstream API':
    'Calls of the upstream service, passed on as they are: an existing client works with this base URL and a token of the bridge.',
  Bridge: 'What the bridge itself knows: tracked operations, events, health.',
  Documentation: 'This document and its page.',
} as const satisfies Record<Route['group'], string>;

export function openApiDocument(routes: readonly Route[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Operations Bridge',
      version,
      description:
        'One authenticated door to the upstream service, and the events that the service itself does not send. ' +
        'Errors of the bridge are problem documents (RFC 9457); errors of the upstream pass as they are.',
    },
    tags: Object.entries(GROUPS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: `A token of the bridge (opb_...), or an access token of the configured issuer. Scopes: ${SCOPES.join(', ')}.`,
        },
      },
      schemas: { Problem: problemSchema(), UpstreamError: upstreamErrorSchema },
    },
    security: [{ token: [] }],
  };
}

function operationOf(route: Route): OpenApiOperation {
  const { id, summary, description, group, access } = route;
  const requestBody = bodyOf(route);
  const scope = access === 'public' || access === 'signed_in' ? undefined : access;
  const whoMay =
    scope === undefined
      ? access === 'public'
        ? 'Open to everybody.'
        : 'For every token.'
      : `Needs the scope \`${scope}\`.`;
  return {
    operationId: id,
    summary,
    description: [description, whoMay].filter(Boolean).join('\n\n'),
    tags: [group],
    parameters: parametersOf(route),
    ...(requestBody && { requestBody }),
    responses: answersOf(route),
    ...(access === 'public' && { security: [] }),
    ...(scope !== undefined && { 'x-required-scope': scope }),
  };
}

/** Every refusal of the upstream that was seen has these members; the specification shows no body. */
const upstreamErrorSchema = {
  type: 'object',
  required: ['message'],
  properties: {
    request_id: { type: 'string' },
    code: { type: 'string' },
    message: { type: 'string', description: 'The words of the upstream.' },
  },
};

function problemSchema(): object {
  return {
    type: 'object',
    required: ['type', 'title', 'status', 'detail', 'request_id', 'code', 'message'],
    properties: {
      type: {
        type: 'string',
        enum: Object.keys(PROBLEM_TYPES).map((type) => `urn:operations-bridge:problem:${type}`),
      },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string', description: 'What was wrong here, and what to do.' },
      request_id: { type: 'string', description: 'Finds the reason in the log.' },
      code: { type: 'string', description: "Always empty; a member of the upstream's own errors." },
      message: {
        type: 'string',
        description: "The detail, under the name that the upstream's clients read.",
      },
      errors: {
        type: 'array',
        items: {
          type: 'object',
          required: ['field', 'reason'],
          properties: { field: { type: 'string' }, reason: { type: 'string' } },
        },
      },
    },
  };
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}

function parametersOf(route: Route): readonly Parameter[] {
  return [...pathParameters(route.path), ...queryParameters(route), ...headerParameters(route)];
}

function pathParameters(path: string): readonly Parameter[] {
  return idNamesOf(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: jsonSchema(idSchemaOf(name), 'input'),
  }));
}

function queryParameters({ query, declared }: Route): readonly Parameter[] {
  if (declared !== undefined)
    return declared.query.map((name) => ({ name, in: 'query', required: false, schema: {} }));
  if (query === undefined) return [];
  const { properties = {} } = jsonSchema(query, 'output') as {
    properties?: Record<string, { description?: string }>;
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: !query.shape[name]?.safeParse(undefined).success,
    ...(description !== undefined && { description }),
    schema,
  }));
}

function headerParameters(route: Route): readonly Parameter[] {
  if (!isPassedOn(route)) return [];
  const prefer: Parameter = {
    name: 'Prefer',
    in: 'header',
    required: false,
    description:
      'wait=N: seconds (0 to 20, default 5) to wait for a lock, a rate limit or an unavailable upstream. wait=ready: a command is answered when everything that it has started has ended. respond-async: a command about one project waits in line and is answered with 202.',
    schema: { type: 'string', examples: ['wait=10', 'wait=ready', 'respond-async'] },
  };
  if (route.method === 'GET') return [prefer];
  const key: Parameter = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'The command is carried out once under this key; a repetition within 24 hours gets the first outcome.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  };
  return [prefer, key, callback, ...(route.lineAnswer === undefined ? [] : [deadline])];
}

const callback: Parameter = {
  name: 'bridge-callback',
  in: 'header',
  required: false,
  description:
    '"sfn:" and the token of a Step Functions task, which the end of the command ends (with wait=ready, the end of the branch that it creates). The configuration must name the state machine.',
  schema: { type: 'string', minLength: 5, maxLength: 2_052, examples: ['sfn:AQCEAAAAKgAAAAMAAAAA'] },
};

const deadline: Parameter = {
  name: 'bridge-deadline',
  in: 'header',
  required: false,
  description:
    'Seconds after which a command in line expires instead of being sent, with "Prefer: respond-async" (default 900).',
  schema: { type: 'string', examples: ['900'] },
};

/** Undefined when the route takes no body. */
function bodyOf({ body, declared, isBodyOptional }: Route): object | undefined {
  if (body === undefined) return undefined;
  const schema = jsonSchema(declared?.body() ?? body, 'input');
  return {
    required: isBodyOptional !== true,
    content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
  };
}

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

function answersOf(route: Route): Readonly<Record<string, Answer>> {
  const answers = new Map<number, Answer>();
  for (const [status, answer] of [
    ...successes(route),
    ...inLine(route),
    ...refusalsOf(route),
    ...problems(route),
  ])
    answers.set(status, withRequestId(joined(answers.get(status), answer)));
  const documented = Object.fromEntries([...answers].toSorted(([a], [b]) => a - b));
  return isPassedOn(route) ? { ...documented, default: withRequestId(anyOther) } : documented;
}

function withRequestId(answer: Answer): Answer {
  const description =
    "The upstream's id of the request where the answer is its own, and the bridge's otherwise.";
  return {
    ...answer,
    headers: { ...answer.headers, 'x-request-id': { description, schema: { type: 'string' } } },
  };
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
  const isEmpty = status === 204 || schema === undefined || answer instanceof z.ZodUndefined;
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
    ...(route.closedUntil === undefined || method !== 'GET' ? [] : (['call-closed'] as const)),
    ...(path.includes('{') || isPassed ? (['not-found'] as const) : []),
    ...(isPassed ? (['rate-limited', 'upstream-unavailable', 'upstream-timeout'] as const) : []),
    ...(isPassed ? [] : (['rate-limited', 'record-unreadable'] as const)),
    ...(method === 'GET' ? [] : (['body-too-large', 'media-type-unsupported'] as const)),
    ...(method === 'GET' || !isPassed ? [] : commandProblems),
    ...furtherProblems,
    'internal',
  ];
}

/** Only commands that are passed on take an Idempotency-Key and a callback. A callback is refused unless the configuration allows it. */
const commandProblems = [
  'call-closed',
  'in-progress',
  'outcome-unknown',
  'secret-already-issued',
  'key-reused',
] as const;

/** The result has no `$schema`, which belongs only to a document of its own. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
