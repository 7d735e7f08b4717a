/** Says what a line waits for, so that its caller knows what wakes it. */

export type LineWait =
  /** What ends the wait, wakes the project: the end of an operation, the end of a freeze, or another process. */
  | { readonly kind: 'waiting' }
  /** The rate limit or the upstream asks for this pause, whose end wakes nothing by itself. */
  | { readonly kind: 'paused'; readonly pauseMs: number };

export const WAITING: LineWait = { kind: 'waiting' };
