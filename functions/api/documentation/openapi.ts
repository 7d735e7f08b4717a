/**
 * Builds the OpenAPI 3.1 document from the table of routes. It says what the routes say of themselves, and nothing
 * else.
 */

import { SCOPES } from '../../../shared/callers/scopes.ts';
import { PROBLEM_TYPES } from '../serving/problem.ts';
import type { Route } from '../serving/route.ts';
import { answersOf } from './answers.ts';
import { bodyOf, type Parameter, parametersOf } from './request-parts.ts';

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
