/**
 * States the numbers by which the wide world is driven and judged, each with its source. Production has its own, and a wrong one there
 * must not move these.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Lambda kills an invocation at this age, and the poller stops so long before (docs/limits.md, "Polling, recording and publishing"). */
export const INVOCATION_MS = 66_000;
export const STOP_RESERVE_MS = 6_500;

/** Production walks with these (docs/limits.md; public contract: a page has 1 to 1,000 rows). */
export const PRODUCTION_WALK = {
  firstPageRows: 100,
  widePageRows: 1_000,
  pagesMax: 20,
  overlapMs: 5 * MINUTE_MS,
} as const;

/** The record of an operation is kept for so long (PROTOCOL.md, "Bounds"). */
export const RETENTION_MS = 200 * DAY_MS;

/** An operation has vanished when it has answered 404 for so long (docs/events.md, "Operation Watch Ended"). */
export const VANISHED_AFTER_MS = MINUTE_MS;

/** A command is used up to 1.2 seconds after its permit, and the poller knows of it seven seconds after that (docs/limits.md). */
const UNKNOWN_MS = 8_200;

/** Returns how many commands may have left without the poller's knowledge: those of that time, and one at each of its ends. */
export function unknownCommandsMax(commandRequestsPerMinute: number): number {
  if (commandRequestsPerMinute === 0) return 0;
  return Math.floor((commandRequestsPerMinute * UNKNOWN_MS) / MINUTE_MS) + 2;
}
