/** Finds the address at which browsers reach the console. The provider sends them back there. */

import type { Context } from 'hono';

/**
 * Without a configured address it is that of the request. A made-up `Host` gains nothing: the provider refuses every
 * address that the operators have not registered there.
 */
export function baseUrlOf(c: Context, configured: string | undefined): string {
  return configured ?? new URL(c.req.url).origin;
}
