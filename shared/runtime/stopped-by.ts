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
