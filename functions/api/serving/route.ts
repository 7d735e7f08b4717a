/** What the API knows of one of its routes; from these come the server, the authorization and the OpenAPI document. */

import type * as z from 'zod';
import type { Caller } from '../../../shared/callers/authorize.ts';
import type { Scope } from '../../../shared/callers/scopes.ts';
import type { Reach } from '../../../shared/upstream/calls/call.ts';

export interface Route {
  /** Unique; the `operationId` of the document. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** From the root, with `{name}` for each id. A `{project_id}` must be one that the caller may see. */
  readonly path: string;
  /** One line. */
  readonly summary: string;
  /** A few sentences for whoever reads the documentation. */
  readonly description?: string;
  readonly group: 'Upstream API' | 'Bridge' | 'Documentation';
  /** The scope that a caller needs, or who else may call. A route without it does not exist. */
  readonly access: Scope | 'signed_in' | 'public';
  /** Of a call of the upstream; absent: the whole account. */
  readonly reach?: Reach;
  /** Of the bridge's own routes, those that make others work: counted by caller. */
  readonly limit?: 'wishes';
  /** False: it changes nothing that anybody would ask about later. Default: every method but GET is audited. */
  readonly isAudited?: false;
  /** Strict: an unknown parameter is a mistake that would otherwise go unnoticed. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** Of a success. */
  readonly status: number;
  readonly answer?: z.ZodType;
  /** Rejects with `Problem` for whatever the caller has to know. */
  handle(request: ApiRequest): Promise<ApiAnswer>;
}

export interface ApiRequest {
  /** Random; in the answer, in the audit and in the events of what the request started. */
  readonly requestId: string;
  /** As the access of the route says: only public routes are called without. */
  readonly caller: Caller;
  /** By their names in the path, each of its form. */
  readonly ids: Readonly<Record<string, string>>;
  /** Parsed by the route's schema. */
  readonly query: Readonly<Record<string, unknown>>;
  /** Parsed by the route's schema; undefined without one. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Lower-case names; only those that the API gives a meaning. */
  readonly headers: Readonly<Partial<Record<'idempotency-key' | 'prefer', string>>>;
  /** Aborts when the caller has gone or the time for the request is over. */
  readonly signal: AbortSignal;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is; undefined: nothing. Objects are JSON. */
  readonly body?: Uint8Array | string | object;
  /** For the audit: what the command started. */
  readonly operationIds?: readonly string[];
  /** A read whose answer has secrets in it, for a caller who may see them: it is audited. */
  readonly showsSecrets?: boolean;
}
