/** When a channel counts as deaf, judged by its own item. The notifier's alarm and the health page of the API share this rule. */

/** A channel that fails once is not deaf: its back-off leaves room for at least two tries within this time. */
export const DEAF_MS = 10 * 60_000;

interface Waiting {
  /** Since when something has been due without the channel taking a message. Undefined: nothing is due. */
  readonly waiting_since_ms?: number | undefined;
}

/** How long the channel has taken nothing although something was due; 0 when nothing is. */
export function deafMsOf({ waiting_since_ms: sinceMs }: Waiting, nowMs: number): number {
  return sinceMs === undefined ? 0 : Math.max(0, nowMs - sinceMs);
}
