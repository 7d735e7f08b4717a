/** Answers 429, for a request beyond the limits and for a fault alike. */

import { refusal, type UpstreamContext } from './upstream-context.ts';

/** The specification shows no `Retry-After`, so only a fault adds one, in seconds. */
export function tooManyRequests(c: UpstreamContext, retryAfterSeconds?: number): Response {
  const response = refusal(c, 429, 'rate limit exceeded');
  if (retryAfterSeconds !== undefined) response.headers.set('retry-after', String(retryAfterSeconds));
  return response;
}
