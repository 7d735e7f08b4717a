/**
 * Builds the OpenAPI 3.1 document from the table of routes. It says what the routes say of themselves, and nothing
 * else.
 */

import * as z from 'zod';
import { SCOPES } from '../../../shared/callers/scopes.ts';
import { idNamesOf, idSchemaOf } from '../../../shared/upstream/calls/ids.ts';
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

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
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
      schemas: { Problem: problemSchema() },
    },
    security: [{ token: [] }],
  };
}

function operationOf(route: Route): OpenApiOperation {
  const { id, summary, description, group, access, path } = route;
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
    parameters: [...pathParameters(path), ...queryParameters(route), ...headerParameters(route)],
    ...(route.body && { requestBody: bodyOf(route.body) }),
    responses: responsesOf(route),
    ...(access === 'public' && { security: [] }),
    ...(scope !== undefined && { 'x-required-scope': scope }),
  };
}

function pathParameters(path: string): readonly Parameter[] {
  return idNamesOf(path).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: jsonSchema(idSchemaOf(name), 'input'),
  }));
}

function queryParameters({ query }: Route): readonly Parameter[] {
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
      'wait=N: seconds (0 to 20, default 5) to wait for a lock, a rate limit or an unavailable upstream.',
    schema: { type: 'string', examples: ['wait=10'] },
  };
  if (route.method === 'GET') return [prefer];
  const key: Parameter = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'The command is carried out once under this key; a repetition within 24 hours is told the first outcome.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  };
  return [prefer, key];
}

function bodyOf(body: z.ZodObject): object {
  const schema = jsonSchema(body, 'input');
  return {
    required: true,
    content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
  };
}

function responsesOf(route: Route): Readonly<Record<string, object>> {
  const schema = route.answer && jsonSchema(route.answer, 'input');
  const hasBody = route.status !== 204 && schema !== undefined && !('not' in schema);
  const success = {
    description: 'Success',
    ...(hasBody && { content: { 'application/json': { schema } } }),
  };
  const problems = Map.groupBy(problemsOf(route), (type) => PROBLEM_TYPES[type].status);
  const refusals = [...problems].map(([status, types]) => [
    String(status),
    {
      description: types.map((type) => PROBLEM_TYPES[type].title).join('. Or: '),
      content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ]);
  return { [String(route.status)]: success, ...Object.fromEntries(refusals) };
}

function problemsOf(route: Route): readonly ProblemType[] {
  const { access, method, path } = route;
  if (access === 'public') return ['internal'];
  const passed: readonly ProblemType[] = ['rate-limited', 'upstream-unavailable', 'upstream-timeout'];
  const repeated: readonly ProblemType[] = [
    'body-too-large',
    'media-type-unsupported',
    'in-progress',
    'outcome-unknown',
    'secret-already-issued',
    'key-reused',
  ];
  return [
    'invalid-request',
    'unauthenticated',
    ...(access === 'signed_in' ? [] : (['scope-missing'] as const)),
    ...(path.includes('{') || isPassedOn(route) ? (['not-found'] as const) : []),
    ...(isPassedOn(route) ? passed : []),
    ...(method === 'GET' ? [] : repeated),
    'internal',
  ];
}

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

/** Returns the JSON Schema without `$schema`, which belongs only to a document of its own. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
