/**
 * Decides when a channel counts as deaf, by its own item. The notifier's alarm and the health page of the API share
 * this rule.
 */

/** A channel that fails once is not deaf: its back-off leaves room for at least two tries within this time. */
export const DEAF_MS = 10 * 60_000;

interface Waiting {
  /** A message has been due since this time, and the channel has accepted none. It is undefined when nothing is due. */
  readonly waiting_since_ms?: number | undefined;
}

/**
 * Returns for how many milliseconds the channel has accepted nothing although a message was due. It is 0 when nothing
 * is due.
 */
export function deafMsOf({ waiting_since_ms: sinceMs }: Waiting, nowMs: number): number {
  return sinceMs === undefined ? 0 : Math.max(0, nowMs - sinceMs);
}
