/**
 * Decides where a project's list ends. A page carries a cursor even when nothing follows it, so the end of a short
 * list costs one more request. Once nothing can appear behind that end any more, the request is spared.
 */

import { epochMsOf, type Timestamp } from '../../../../shared/core/time/timestamp.ts';

export interface ListEnd {
  /** The list's last row has this cursor. */
  readonly cursor: string;
  /** It is true when nothing can appear behind this cursor any more. */
  readonly isProven: boolean;
}

/**
 * A row may become visible up to `overlapMs` after its creation. When the last row is older than that and nothing
 * stands behind it, no older row appears any more, or only a sweep finds it. `nowMs` is a time that the upstream's clock
 * has surely reached, so that a wrong clock of ours proves nothing.
 */
export function listEndOf(
  cursor: string,
  lastRowAt: Timestamp | undefined,
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): ListEnd {
  return { cursor, isProven: lastRowAt !== undefined && nowMs - epochMsOf(lastRowAt) >= overlapMs };
}
