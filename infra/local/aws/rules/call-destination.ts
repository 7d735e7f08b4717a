/** Sends one request to an API destination, and says by the code of EventBridge why it failed. */

import { toError } from '../../../../shared/runtime/errors.ts';
import { codeOf } from '../../../process/system-error.ts';
import { DeliveryError } from '../services/deliveries.ts';
import type { DestinationRequest } from './destination-request.ts';

/** EventBridge User Guide, "API destinations": the target has five seconds for its answer. */
const TIMEOUT_MS = 5_000;

/** EventBridge repeats on these and on every 5xx; any other refusal is final. */
const RETRIED_STATUSES: ReadonlySet<number> = new Set([401, 407, 409, 429]);

/** Rejects with a `DeliveryError`. The signal ends the request. */
export async function callDestination(request: DestinationRequest, signal: AbortSignal): Promise<void> {
  const { url, method, headers, body } = request;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const options = {
    method,
    headers,
    redirect: 'manual',
    signal: AbortSignal.any([signal, timeout]),
  } as const;
  const answer = await fetch(url, body === undefined ? options : { ...options, body }).catch(
    (error: unknown) => {
      throw unansweredError(error, timeout.aborted);
    },
  );
  await answer.body?.cancel();
  const { status } = answer;
  if (answer.ok) return;
  throw new DeliveryError(
    'ERROR_FROM_TARGET',
    `The HTTP address answered with ${status}.`,
    RETRIED_STATUSES.has(status) || status >= 500,
  );
}

function unansweredError(error: unknown, isTimedOut: boolean): DeliveryError {
  if (isTimedOut)
    return new DeliveryError(
      'TIMEOUT',
      `The HTTP address did not answer within ${TIMEOUT_MS / 1_000} s.`,
      true,
    );
  const cause = toError(toError(error).cause ?? error);
  const reason = codeOf(cause) || cause.message;
  return new DeliveryError('CONNECTION_FAILURE', `The HTTP address cannot be reached (${reason}).`, true);
}
