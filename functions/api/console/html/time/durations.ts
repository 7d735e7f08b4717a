/** Writes durations for people. A smaller unit never reaches the size of the next one. */

/** Returns a duration such as `480 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min` or `3 days`, rounded to its smallest unit. */
export function duration(durationMs: number): string {
  const wholeMs = Math.round(durationMs);
  if (wholeMs < 1_000) return `${wholeMs} ms`;
  const tenths = Math.round(durationMs / 100);
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  const seconds = Math.round(durationMs / 1_000);
  if (seconds < 3_600) return inTwoUnits(seconds, 60, ['min', 's']);
  const minutes = Math.round(durationMs / 60_000);
  if (minutes < TWO_DAYS_MINUTES) return inTwoUnits(minutes, 60, ['h', 'min']);
  return `${Math.round(durationMs / 86_400_000)} days`;
}

/** Returns how long something took by the upstream's clock, which shows whole seconds. */
export function upstreamDuration(durationMs: number): string {
  const seconds = Math.round(durationMs / 1_000);
  if (seconds < 1) return 'under 1 s';
  return seconds < 60 ? `${seconds} s` : duration(seconds * 1_000);
}

/**
 * Returns how long ago something was, as `4 s`, `12 min`, `1 h 40 min` or `3 days`. A person who reads an age needs no
 * second digit of it, and the page is seconds old.
 */
export function roughDuration(durationMs: number): string {
  const seconds = Math.floor(durationMs / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return duration(minutes * 60_000);
}

const TWO_DAYS_MINUTES = 2 * 24 * 60;

/** Splits a whole number of the smaller unit, so that rounding has happened before. */
function inTwoUnits(count: number, perLarger: number, [larger, smaller]: readonly [string, string]): string {
  const rest = count % perLarger;
  const whole = `${Math.floor(count / perLarger)} ${larger}`;
  return rest === 0 ? whole : `${whole} ${rest} ${smaller}`;
}
