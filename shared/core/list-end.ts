/**
 * What is known about where a project's list ends. A page carries a cursor even when nothing follows it, so the end of a
 * short list costs one more request. Once nothing can appear behind that end any more, the request is spared.
 */

export interface ListEnd {
  /** The cursor of the last row. */
  readonly cursor: string;
  /** When this end was first seen, by our clock. */
  readonly firstSeenAtMs: number;
  /** When this end was last seen, by our clock. */
  readonly lastSeenAtMs: number;
}

/** `cursor` undefined: the walk did not reach the end of the list, or the list shows no cursor. */
export function noteListEnd(
  known: ListEnd | undefined,
  cursor: string | undefined,
  nowMs: number,
): ListEnd | undefined {
  if (cursor === undefined) return undefined;
  const isSame = known?.cursor === cursor;
  return { cursor, firstSeenAtMs: isSame ? known.firstSeenAtMs : nowMs, lastSeenAtMs: nowMs };
}

/**
 * The cursor that needs no following. A row may become visible up to `overlapMs` after its creation; an older row than the
 * last one that was still missing after so long does not come any more, or only a sweep finds it.
 */
export function provenEndCursor(known: ListEnd | undefined, overlapMs: number): string | undefined {
  if (known === undefined || known.lastSeenAtMs - known.firstSeenAtMs < overlapMs) return undefined;
  return known.cursor;
}
