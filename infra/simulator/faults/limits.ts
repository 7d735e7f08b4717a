/** Limits requests to 700 a minute per account and bursts of 40 a second per route (specification "Limits"). */

export const REQUESTS_PER_MINUTE = 700;
export const REQUESTS_PER_SECOND_AND_ROUTE = 40;

export interface RequestLimits {
  /** Returns true when the request is within the limits. A refused request does not count. */
  admit(route: string, nowMs: number): boolean;
}

/** Counts in sliding windows, which is the stricter reading of "a minute". */
export function createRequestLimits(): RequestLimits {
  const minute: number[] = [];
  const seconds = new Map<string, number[]>();
  return {
    admit(route, nowMs) {
      const second = seconds.get(route) ?? [];
      seconds.set(route, second);
      forget(minute, nowMs - 60_000);
      forget(second, nowMs - 1_000);
      if (minute.length >= REQUESTS_PER_MINUTE || second.length >= REQUESTS_PER_SECOND_AND_ROUTE)
        return false;
      minute.push(nowMs);
      second.push(nowMs);
      return true;
    },
  };
}

function forget(times: number[], untilMs: number): void {
  const kept = times.findIndex((time) => time > untilMs);
  times.splice(0, kept === -1 ? times.length : kept);
}
