/** Ends work and waiting together with a signal, and leaves nothing behind at a signal that outlives them. */

/**
 * Returns a controller that aborts together with `signal`, and may be aborted before it. The listener is removed by
 * hand, because Node keeps everything that a listener with the option `signal` can reach until that signal aborts.
 */
export function stoppedBy(signal: AbortSignal): AbortController {
  const stop = new AbortController();
  if (signal.aborted) stop.abort(signal.reason);
  const stopToo = () => stop.abort(signal.reason);
  signal.addEventListener('abort', stopToo, { once: true });
  stop.signal.addEventListener('abort', () => signal.removeEventListener('abort', stopToo), { once: true });
  return stop;
}

/**
 * Resolves as the task does, or to undefined as soon as the signal aborts. From then on nobody waits for the task, and its
 * failure is nobody's.
 */
export async function untilStopped<T>(task: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const stop = () => resolve(undefined);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([task, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
