/** What a request of the simulated service carries along, and how each of its refusals looks. */

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';

export interface UpstreamEnv {
  /** Without a server, as in a test of the app alone, there is no socket. */
  Bindings: Partial<HttpBindings>;
  Variables: { requestId: string };
}

export type UpstreamContext = Context<UpstreamEnv>;

type RefusalStatus = 400 | 401 | 404 | 429 | 500 | 503;

/** Observed body of every refusal: `code` is mostly empty. */
export function refusal(c: UpstreamContext, status: RefusalStatus, message: string): Response {
  return c.json({ request_id: c.get('requestId'), code: '', message }, status);
}
