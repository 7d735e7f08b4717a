/** Gives one message a bounded time for all its requests, and makes a failure of what went wrong meanwhile. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { SendResult } from '../kind/channel.ts';

/**
 * All requests of one message together have this time. Answers after 12 s were seen, and a message without an answer
 * is sent again.
 */
const TIMEOUT_MS = 25_000;

/** Runs `send`, whose requests must end with the signal. It never throws: an error means that no answer came. */
export async function sendInTime(
  clock: Clock,
  send: (signal: AbortSignal) => Promise<SendResult>,
): Promise<SendResult> {
  const patience = new AbortController();
  const ended = new AbortController();
  clock.sleep(TIMEOUT_MS, ended.signal).then(
    () => patience.abort(new DOMException('No answer came in time', 'TimeoutError')),
    () => {},
  );
  try {
    return await send(patience.signal);
  } catch (error) {
    // The text of a fetch error can hold the URL, and the URL can be the secret.
    return { kind: 'failed', reason: toError(error).name, isUncertain: true };
  } finally {
    ended.abort();
  }
}
