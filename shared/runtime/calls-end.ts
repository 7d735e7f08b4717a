/** Bounds the time of every call of AWS, so that a call that is never answered holds nothing up for long. */

/** The slowest call that was seen to end took a second, and the SDK tries twice more. */
export const CALLS_END = {
  requestHandler: { connectionTimeout: 2_000, requestTimeout: 5_000, throwOnRequestTimeout: true },
} as const;
