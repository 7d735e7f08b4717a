/** Ends the work on a request when it takes too long or its caller has gone. */

export interface RequestEnd {
  readonly signal: AbortSignal;
  /** Must be called when the answer is there. Nothing that was made for the signal is left then. */
  release(): void;
}

/**
 * The signal aborts with a `TimeoutError` after `durationMs`, and with the reason of `callerSignal` when that aborts.
 * `AbortSignal.any` would do the same, but what it makes is freed only by the garbage collector, and costs several
 * times as much of a short read.
 */
export function openRequestEnd(durationMs: number, callerSignal?: AbortSignal): RequestEnd {
  const end = new AbortController();
  const onGone = () => end.abort(callerSignal?.reason);
  const onLate = () =>
    end.abort(new DOMException(`The request took longer than ${durationMs} ms`, 'TimeoutError'));
  const timer = setTimeout(onLate, durationMs).unref();
  if (callerSignal?.aborted === true) onGone();
  else callerSignal?.addEventListener('abort', onGone, { once: true });
  return {
    signal: end.signal,
    release() {
      clearTimeout(timer);
      callerSignal?.removeEventListener('abort', onGone);
    },
  };
}
