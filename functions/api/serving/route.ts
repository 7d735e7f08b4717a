/**
 * Defines what the API knows about one of its routes. The server, the authorization and the OpenAPI document are made
 * from it.
 */

import type * as z from 'zod';
import type { Caller, Scope } from '../../../shared/callers/scopes.ts';
import type { DeclaredFields, Method, Reach } from '../../../shared/upstream/calls/call.ts';
import type { ProblemType } from './problem.ts';

/** The calls of the upstream stand under this path, as they do at the upstream itself. */
export const UPSTREAM_MOUNT = '/api/v2';

export interface Route {
  /** The id is unique, and is the `operationId` of the OpenAPI document. */
  readonly id: string;
  readonly method: Method;
  /**
   * The path starts at the root and has `{name}` for each id. A `{project_id}` is checked against the projects of the
   * caller.
   */
  readonly path: string;
  /** The documentation shows this line. */
  readonly summary: string;
  /** These sentences are for readers of the documentation. */
  readonly description?: string;
  /** The group is a heading in the documentation, and has no other effect. */
  readonly group: 'Upstream API' | 'Bridge' | 'Documentation';
  /** A caller needs this scope. `signed_in` admits any caller, and `public` admits requests without a token. */
  readonly access: Scope | 'signed_in' | 'public';
  /**
   * The reach says how far a call of the upstream reaches. Without it the route is the bridge's own, and nothing is
   * passed on.
   */
  readonly reach?: Reach;
  /** True on a route of the bridge that concerns all projects, so callers who are limited to some do not reach it. */
  readonly isAccountWide?: true;
  /** One request uses this allowance of the caller. A route without it only reads the bridge's table. */
  readonly limit?: 'upstream' | 'wishes';
  /**
   * When false, the request changes nothing that an audit would ask about. By default every method but GET is
   * audited.
   */
  readonly isAudited?: false;
  /** These fields of the body are ids of what the request is about, and the audit has them. */
  readonly audited?: readonly string[];
  /**
   * It reaches beyond the caller's own account, so callers of a paused account do not reach it. They do when the path
   * names their own account, which they may let go on.
   */
  readonly isClosedWhilePaused?: true;
  /** The call is closed until the configuration has this setting. */
  readonly closedUntil?: string;
  /** Tokens of the first edition do not reach the call, whatever scopes they have. */
  readonly isOfSecondEdition?: true;
  /** A schema of the bridge's own routes is strict, because an unknown parameter is a mistake that would otherwise go unnoticed. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly isBodyOptional?: true;
  /** A caller who is limited to projects may send these fields. Without it the schemas of query and body declare them. */
  readonly declared?: DeclaredFields;
  /** A success has this status. */
  readonly status: number;
  /** The answer has the same form with these statuses: of a success, or of something that is not in order. */
  readonly otherStatuses?: readonly number[];
  /** The answer has this media type, or `application/json`. */
  readonly mediaType?: string;
  readonly answer?: z.ZodType;
  /** A command with `Prefer: respond-async` is answered with 202 and this body while it waits in line. */
  readonly lineAnswer?: z.ZodType;
  /** The route answers with these problems, beside those of its kind. */
  readonly furtherProblems?: readonly ProblemType[];
  /** Rejects with `Problem` when the caller has to learn the reason. */
  handle(request: ApiRequest): Promise<ApiAnswer>;
}

/** Returns whether the request of a caller goes on to the upstream. */
export function isPassedOn({ reach }: Route): boolean {
  return reach !== undefined;
}

/** The headers that mean something to a route, by their lower-case names. A route sees no others. */
export const READ_HEADERS = [
  'idempotency-key',
  'prefer',
  'bridge-deadline',
  'bridge-callback',
  'traceparent',
  'accept-encoding',
  'if-none-match',
  'user-agent',
] as const;

export interface ApiRequest {
  /**
   * The id is random. It stands in the answer, in the audit, and in the events of the operations that the request
   * started.
   */
  readonly requestId: string;
  /** On a public route this is a caller who can see nothing. */
  readonly caller: Caller;
  /** The ids have the names of the route's path, and each was checked by its pattern. */
  readonly ids: Readonly<Record<string, string>>;
  /** The route's schema has checked the query. That of a call that is passed on has the texts that its caller wrote. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The route's schema has parsed the body. It is undefined when the route has none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** The same body as its caller wrote it, in which a call is passed on. A form has none. */
  readonly json: string | undefined;
  /** The whole address, with the host that the front door names. The bridge's own requests have none. */
  readonly url: string | undefined;
  /** The API reads only these headers, by their lower-case names. */
  readonly headers: Readonly<Partial<Record<(typeof READ_HEADERS)[number], string>>>;
  /**
   * A call that is passed on calls it once, when it is sent or put in line: the audit has a record from then on, also
   * after a crash. What is refused before that has one like every other refusal.
   */
  readonly beginRecord: () => void;
  /** Aborts when the time for the request is over and, for a read, when the caller closes the connection. */
  readonly signal: AbortSignal;
  /** In milliseconds since the epoch. What the caller waits for, it waits for from then on. */
  readonly receivedMs: number;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bytes and text are sent as they are, and an object is sent as JSON. Without it the answer has no body. */
  readonly body?: Uint8Array | string | object;
  /** The command started these operations, and the audit names them. */
  readonly operationIds?: readonly string[];
  /** Names the command whose end the answer has promised, which is another request's after a repetition. */
  readonly command?: {
    readonly id: string;
    readonly projectIds: readonly string[];
    readonly isQueued: boolean;
  };
  /** The audit names these, too, which only the route can know. */
  readonly about?: Readonly<Record<string, string>>;
  /** The request has changed this life of another account than the caller's, whose audit has a record, too. */
  readonly concerns?: Pick<Caller, 'account_id' | 'generation'>;
  /** The answer leaves when this has settled: the operations of the command are recorded. It never rejects. */
  readonly recorded?: Promise<void>;
  /** When true, the answer of a read contains secrets that the caller may see, so the read is audited. */
  readonly showsSecrets?: boolean;
}
