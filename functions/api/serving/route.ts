/** What the API knows about one of its routes. The server, the authorization and the OpenAPI document are made of it. */

import type * as z from 'zod';
import type { Caller } from '../../../shared/callers/authorize.ts';
import type { Scope } from '../../../shared/callers/scopes.ts';
import type { Method, Reach } from '../../../shared/upstream/calls/call.ts';
import type { DeclaredFields } from '../../../shared/upstream/public-calls/call-of.ts';

/** The calls of the upstream stand under this path, as they do at the upstream itself. */
export const UPSTREAM_MOUNT = '/api/v2';

export interface Route {
  /** Unique; it is the `operationId` of the OpenAPI document. */
  readonly id: string;
  readonly method: Method;
  /** The path from the root, with `{name}` for each id. A `{project_id}` is checked against the projects of the caller. */
  readonly path: string;
  /** One line for the documentation. */
  readonly summary: string;
  /** A few sentences for readers of the documentation. */
  readonly description?: string;
  /** The heading in the documentation, and nothing else. */
  readonly group: 'Upstream API' | 'Bridge' | 'Documentation';
  /** The scope that a caller needs; `signed_in`: any caller; `public`: anyone, without a token. */
  readonly access: Scope | 'signed_in' | 'public';
  /** How far a call of the upstream reaches. Absent: the route is the bridge's own, and nothing is passed on. */
  readonly reach?: Reach;
  /** The allowance of the caller that one request uses. Absent: none, because the route only reads the bridge's table. */
  readonly limit?: 'upstream' | 'wishes';
  /** False: the request changes nothing that an audit would ask about. Default: every method but GET is audited. */
  readonly isAudited?: false;
  /** The setting of the configuration that opens this call. Absent: the call is open. */
  readonly closedUntil?: string;
  /** True: tokens of the first edition do not reach the call, whatever scopes they have. */
  readonly isOfSecondEdition?: true;
  /** A schema of the bridge's own routes is strict, because an unknown parameter is a mistake that would otherwise go unnoticed. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly isBodyOptional?: true;
  /** What a caller who is limited to projects may send. Absent: what the schemas of query and body declare. */
  readonly declared?: DeclaredFields;
  /** The status of a success. */
  readonly status: number;
  /** A second status of a success. */
  readonly otherStatus?: number;
  readonly answer?: z.ZodType;
  /** Rejects with `Problem` when the caller must be told the reason. */
  handle(request: ApiRequest): Promise<ApiAnswer>;
}

/** Whether the request of a caller goes on to the upstream. */
export function isPassedOn({ reach }: Pick<Route, 'reach'>): boolean {
  return reach !== undefined;
}

/** The headers that mean something to a route, by their lower-case names. A route sees no others. */
export const READ_HEADERS = ['idempotency-key', 'prefer', 'bridge-deadline', 'traceparent'] as const;

export interface ApiRequest {
  /** A random id; it stands in the answer, in the audit, and in the events of the operations that the request started. */
  readonly requestId: string;
  /** On a public route: a caller who can see nothing. */
  readonly caller: Caller;
  /** The ids of the path by their names there, each checked by its pattern. */
  readonly ids: Readonly<Record<string, string>>;
  /** The query, parsed by the route's schema. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The body, parsed by the route's schema; undefined when the route has none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** The headers that mean something to the API, by their lower-case names. */
  readonly headers: Readonly<Partial<Record<(typeof READ_HEADERS)[number], string>>>;
  /** Aborts when the time for the request is over and, for a read, when the caller closes the connection. */
  readonly signal: AbortSignal;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes and text are sent as they are, an object is sent as JSON; undefined: no body. */
  readonly body?: Uint8Array | string | object;
  /** The operations that the command started, for the audit. */
  readonly operationIds?: readonly string[];
  /** True: the answer of a read contains secrets that the caller may see, so the read is audited. */
  readonly showsSecrets?: boolean;
}
