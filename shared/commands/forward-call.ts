/**
 * Describes a call of the upstream that a caller wants sent, without anything of the way on which it came, and passes
 * it on. The answer is returned as it is, or why there is none.
 */

import type { Caller } from '../callers/scopes.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { Call, TableCall } from '../upstream/calls/call.ts';
import { type CallDeps, type ForwardedAnswer, type ForwardOptions, forward } from '../upstream/forward.ts';
import { isUpstreamError, type UpstreamError } from '../upstream/upstream-error.ts';

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
  readonly shows?: TableCall['shows'];
}

interface CallRequest {
  /** This id is unique. The audit, the events and the log name the request by it. */
  readonly requestId: string;
  readonly target: ForwardableCall;
  /** The ids stand under their names in the path. Each was checked by its pattern. */
  readonly ids: Readonly<Record<string, string>>;
  /** The query was checked by the schema of the call. */
  readonly query: Readonly<Record<string, unknown>>;
  /** The body was checked by the schema of the call. It is undefined when the call takes none. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** The same body as its caller wrote it, in which it is sent. */
  readonly json?: string | undefined;
  /** The application calls itself this. A command that waits in line loses it. */
  readonly userAgent?: string | undefined;
  /** W3C Trace Context of the caller's request. It is passed along and never trusted for anything. */
  readonly traceparent?: string | undefined;
}

/** This is a request that changes something. */
export interface CommandRequest extends CallRequest {
  readonly caller: Pick<Caller, 'account_id' | 'generation' | 'client_id'>;
  /** The caller sent the key in this form. When it is undefined, the same request sent again is another command. */
  readonly idempotencyKey: string | undefined;
  /** The Idempotency-Key is remembered for this long, or for a day. */
  readonly keptForMs?: number;
}

/** Returns the project of the path, or the one that some calls of the specification name in the body. */
export function namedProjectOf({ ids, body }: CallRequest): string | undefined {
  const named = ids['project_id'] ?? body?.['project_id'];
  return typeof named === 'string' ? named : undefined;
}

/** These options say how long a refusal is waited out, and what is asked first. */
export interface Waiting extends Omit<ForwardOptions, 'onKeyEchoed'> {
  /** This is called when nothing is waited for any more, whether or not `mayWait` was asked. */
  readonly endWait?: () => Promise<void>;
}

export interface ForwardCallDeps {
  readonly upstream: CallDeps;
  readonly telemetry: Telemetry;
}

export type CallResult =
  | { readonly kind: 'answered'; readonly answer: ForwardedAnswer }
  /** No answer can be passed on. Whether the upstream did what it was asked for is another question. */
  | { readonly kind: 'unanswered'; readonly failure: UpstreamError };

/**
 * Rejects only with what is not a failure of the upstream: the key's secret cannot be read, or `mayWait` rejected.
 */
export async function forwardCall(
  { upstream, telemetry }: ForwardCallDeps,
  { target: { id, call }, requestId, ids, query, body, json, userAgent, traceparent }: CallRequest,
  waiting: Waiting,
): Promise<CallResult> {
  const onKeyEchoed = () => {
    telemetry.measure('KeyEchoed', 1);
    telemetry.log('error', 'upstream.key_echoed', { request_id: requestId, call: id });
  };
  try {
    const parts = { ids, query, json, userAgent, traceparent, ...(body && { body }) };
    return {
      kind: 'answered',
      answer: await forward(upstream, call, parts, { ...waiting, onKeyEchoed }),
    };
  } catch (error) {
    if (isUpstreamError(error)) return { kind: 'unanswered', failure: error };
    throw error;
  } finally {
    await waiting.endWait?.();
  }
}

/** The upstream refused the bridge's own key, or the bridge did not send it: the command was not carried out. */
export function hadNoEffect({ kind }: UpstreamError): boolean {
  return kind === 'unauthorized';
}
