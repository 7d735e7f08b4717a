/** Whether a channel takes what waits for it, by its own item: the notifier's alarm and the health of the API ask the same. */

/** Back-off leaves at least two tries within it, so that a channel is not called deaf for one failure. */
export const DEAF_MS = 10 * 60_000;

interface Waiting {
  /** Since when something has been due and the channel has taken nothing. */
  readonly waiting_since_ms?: number | undefined;
}

export function deafMsOf({ waiting_since_ms: sinceMs }: Waiting, nowMs: number): number {
  return sinceMs === undefined ? 0 : Math.max(0, nowMs - sinceMs);
}
