/**
 * Where a project's list ends. A page carries a cursor even when nothing follows it, so the end of a short list costs one more
 * request. Once nothing can appear behind that end any more, the request is spared.
 */

import { epochMsOf, type Timestamp } from '../../../shared/core/time/timestamp.ts';

export interface ListEnd {
  /** The cursor of the last row. */
  readonly cursor: string;
  /** Nothing can appear behind it any more. */
  readonly isProven: boolean;
}

/**
 * A row may become visible up to `overlapMs` after its creation. When the last row was older than that and nothing stood behind
 * it, an even older row does not come any more, or only a sweep finds it. `nowMs`: the earlier one of the upstream's clock and
 * ours, so that one wrong clock proves nothing.
 */
export function listEndOf(
  cursor: string,
  lastRowAt: Timestamp | undefined,
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): ListEnd {
  return { cursor, isProven: lastRowAt !== undefined && nowMs - epochMsOf(lastRowAt) >= overlapMs };
}
