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
  const from = timeIn(text, nowMs);
  if (from !== undefined) return { kind: 'from', from };
  if (text.length >= CURSOR_LENGTH_MIN && /^[\w.~+/=-]+$/.test(text)) return { kind: 'cursor', cursor: text };
  throw new UsageError(
    `--since is "${text}"; it takes a time such as 2026-01-16T21:00:00Z, a duration such as 10m or 2h, now, beginning, or a cursor of the feed.`,
  );
}

/** Returns a time (ISO 8601) for a time or for how long ago. Throws `UsageError`. */
export function parseTime(name: string, text: string, nowMs: number): string {
  const time = timeIn(text, nowMs);
  if (time !== undefined) return time;
  throw new UsageError(
    `--${name} is "${text}"; it takes a time such as 2026-01-16T21:00:00Z, or a duration such as 10m, 2h or 7d.`,
  );
}

function timeIn(text: string, nowMs: number): string | undefined {
  const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  if (unitMs !== undefined) return new Date(nowMs - Number(count) * unitMs).toISOString();
  if (!/^\d{4}-\d\d-\d\d/.test(text) || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(text).toISOString();
}
