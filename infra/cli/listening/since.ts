/** Reads `--since`: a time, how long ago, `now`, `beginning`, or a cursor of the feed. */

import { UsageError } from '../../process/option-values.ts';

/** Where the feed begins: at a place that it knows by name, at a time (ISO 8601), or at a cursor. */
export type FeedStart =
  | { readonly kind: 'from'; readonly from: string }
  | { readonly kind: 'cursor'; readonly cursor: string };

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The shortest cursor is longer than this, and no time is. */
const CURSOR_LENGTH_MIN = 40;

/** Throws `UsageError`. */
export function parseSince(text: string, nowMs: number): FeedStart {
  if (text === 'now' || text === 'beginning') return { kind: 'from', from: text };
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs !== undefined) return startAt(nowMs - Number(count) * unitMs);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return startAt(Date.parse(text));
  if (text.length >= CURSOR_LENGTH_MIN && /^[\w.~+/=-]+$/.test(text)) return { kind: 'cursor', cursor: text };
  throw new UsageError(
    `--since is "${text}"; it takes a time such as 2026-01-16T21:00:00Z, a duration such as 10m or 2h, now, beginning, or a cursor of the feed.`,
  );
}

function startAt(timeMs: number): FeedStart {
  return { kind: 'from', from: new Date(timeMs).toISOString() };
}
