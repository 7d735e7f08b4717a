/** Passes one call on to the upstream, and returns its answer as it is, or why there is none. */

import type { Telemetry } from '../runtime/telemetry.ts';
import { type ForwardedAnswer, type ForwardOptions, forward } from '../upstream/forward.ts';
import type { CallDeps } from '../upstream/outgoing-request.ts';
import { isUpstreamError, type UpstreamError } from '../upstream/upstream-error.ts';
import type { CallRequest } from './command-request.ts';

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
  { target: { id, call }, requestId, ids, query, body }: CallRequest,
  waiting: Waiting,
): Promise<CallResult> {
  const onKeyEchoed = () => {
    telemetry.measure('KeyEchoed', 1);
    telemetry.log('error', 'upstream.key_echoed', { request_id: requestId, call: id });
  };
  try {
    const parts = { ids, query, ...(body && { body }) };
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
