/** How long a caller is willing to wait (`Prefer: wait=N`, RFC 7240, 4.3). */

import { invalid } from './read-request.ts';

/** Long enough for most locks to go: operations take a second or two. */
const PATIENCE_MS_DEFAULT = 5_000;

/** The request as a whole ends at 28 s. */
const PATIENCE_SECONDS_MAX = 20;

/** Milliseconds. Other preferences are ignored, as the RFC says. */
export function patienceMsOf(prefer: string | null | undefined): number {
  const wait = (prefer ?? '')
    .split(/[,;]/)
    .map((part) => part.trim())
    .find((part) => /^wait\b/i.test(part));
  if (wait === undefined) return PATIENCE_MS_DEFAULT;
  const seconds = /^wait\s*=\s*"?(\d{1,6})"?$/i.exec(wait)?.[1];
  if (seconds === undefined)
    throw invalid([{ field: 'header.prefer', reason: 'wait takes whole seconds, like wait=10' }]);
  return Math.min(Number(seconds), PATIENCE_SECONDS_MAX) * 1_000;
}
