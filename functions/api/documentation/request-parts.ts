/** Describes what a route takes: the ids of its path, its query, its headers and its body. */

import { idNamesOf, idSchemaOf } from '../../../shared/upstream/calls/ids.ts';
import { isPassedOn, type Route } from '../serving/route.ts';
import { jsonSchema } from './json-schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description?: string;
  readonly schema: object;
}

export function parametersOf(route: Route): readonly Parameter[] {
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
  return route.lineAnswer === undefined ? [prefer, key] : [prefer, key, deadline];
}

const deadline: Parameter = {
  name: 'bridge-deadline',
  in: 'header',
  required: false,
  description:
    'Seconds after which a command in line expires instead of being sent, with "Prefer: respond-async" (default 900).',
  schema: { type: 'string', examples: ['900'] },
};

/** Undefined when the route takes no body. */
export function bodyOf({ body, declared, isBodyOptional }: Route): object | undefined {
  if (body === undefined) return undefined;
  const schema = jsonSchema(declared?.body() ?? body, 'input');
  return {
    required: isBodyOptional !== true,
    content: { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema } },
  };
}
