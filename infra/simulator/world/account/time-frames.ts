/** Cuts a span of time into the frames of a consumption history (public contract). */

type Granularity = 'hourly' | 'daily' | 'monthly';

/** Both ends are milliseconds since the epoch. */
export interface TimeFrame {
  readonly fromMs: number;
  readonly toMs: number;
}

type TimeFrames =
  | { readonly kind: 'frames'; readonly frames: readonly TimeFrame[] }
  | { readonly kind: 'invalid'; readonly message: string };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A history is at most this long: a week by the hour, sixty days by the day, a year by the month. */
const SPAN_MS_MAX: Readonly<Record<Granularity, number>> = {
  hourly: 7 * DAY_MS,
  daily: 60 * DAY_MS,
  monthly: 366 * DAY_MS,
};

/** Frames begin at whole hours, days or months in UTC, and the first one contains the beginning of the span. */
export function timeFrames({
  fromMs,
  toMs,
  granularity,
}: TimeFrame & { readonly granularity: Granularity }): TimeFrames {
  if (toMs <= fromMs) return { kind: 'invalid', message: 'to: must be later than from' };
  if (toMs - fromMs > SPAN_MS_MAX[granularity])
    return { kind: 'invalid', message: `from: is too long ago for the granularity ${granularity}` };
  const frames: TimeFrame[] = [];
  for (let startMs = beginOf(fromMs, granularity); startMs < toMs; ) {
    const endMs = nextAfter(startMs, granularity);
    frames.push({ fromMs: startMs, toMs: endMs });
    startMs = endMs;
  }
  return { kind: 'frames', frames };
}

function beginOf(atMs: number, granularity: Granularity): number {
  const at = new Date(atMs);
  if (granularity === 'monthly') return Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
  const lengthMs = granularity === 'daily' ? DAY_MS : HOUR_MS;
  return Math.floor(atMs / lengthMs) * lengthMs;
}

function nextAfter(startMs: number, granularity: Granularity): number {
  const start = new Date(startMs);
  if (granularity === 'monthly') return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1);
  return startMs + (granularity === 'daily' ? DAY_MS : HOUR_MS);
}
