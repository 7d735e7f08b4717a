/** Makes the answers of the virtual upstream, and ends the exchanges that take too long or that the caller gives up. */

import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { HttpAnswer, HttpRequest } from '../../../../shared/upstream/pooled-http.ts';

export function httpAnswer(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: AsyncIterable<Uint8Array>,
): HttpAnswer {
  return {
    status,
    ok: status >= 200 && status < 300,
    headers: { get: (name) => headers[name.toLowerCase()] ?? null },
    body,
  };
}

/** Streams a whole body in one piece. */
export async function* whole(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

/** All time-outs share this error, because each new one would record its stack. */
const TIMED_OUT = new DOMException('The operation was aborted due to timeout', 'TimeoutError');

/** The caller's signal ends the wait at once, with its own reason. */
export function inTime(
  clock: Clock,
  { signal, timeoutMs }: HttpRequest,
  start: () => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  if (signal?.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    clock.sleep(timeoutMs, signal).then(() => reject(TIMED_OUT), reject);
    start().then(resolve, reject);
  });
}
