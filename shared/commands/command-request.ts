/** Describes a call of the upstream that a caller wants sent, without anything of the way on which it came. */

import type { Caller } from '../callers/authorize.ts';
import type { Call } from '../upstream/calls/call.ts';
import type { PublicCall } from '../upstream/public-calls/public-call.ts';

/** This is a call that may be passed on, with what the bridge itself has to know of it. */
export interface ForwardableCall {
  /** The call has this name in the table of calls or in the configuration, for scopes, audit and log. */
  readonly id: string;
  readonly call: Call;
  /** The answer may hold a secret, so it is not kept for a repetition. */
  readonly isSecret: boolean;
  /**
   * `connection` says that callers with `connection:read` see the secrets of its answer. `issued` says that every
   * caller who may send the call sees them.
   */
  readonly shows?: PublicCall['shows'];
}

export interface CallRequest {
  /** This id is unique. The audit, the events and the log name the request by it. */
  readonly requestId: string;
  readonly target: ForwardableCall;
  /** The ids stand under their names in the path. Each was checked by its pattern. */
  readonly ids: Readonly<Record<string, string>>;
  /** The query was checked by the schema of the call. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The body was checked by the schema of the call. It is undefined when the call takes none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** This is a request that changes something. */
export interface CommandRequest extends CallRequest {
  readonly caller: Pick<Caller, 'account_id' | 'generation' | 'client_id'>;
  /** The caller sent the key in this form. When it is undefined, the same request sent again is another command. */
  readonly idempotencyKey: string | undefined;
  /** W3C Trace Context of the caller's request. It is passed along and never trusted for anything. */
  readonly traceparent?: string | undefined;
}
