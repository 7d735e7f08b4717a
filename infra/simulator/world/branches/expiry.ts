/** Decides until when a branch may live (public contract: `expires_at`). */

/** A branch can live for 30 days from the time at which the expiry is set. */
const LIFE_MS_MAX = 30 * 24 * 3_600_000;

/** Returns what is wrong with the time, in milliseconds since the epoch, or undefined when it can be set. */
export function faultOfExpiry(expiresAtMs: number | undefined, nowMs: number): string | undefined {
  if (expiresAtMs === undefined) return undefined;
  if (expiresAtMs <= nowMs) return 'expires_at: must be in the future';
  return expiresAtMs > nowMs + LIFE_MS_MAX ? 'expires_at: must be within 30 days' : undefined;
}
