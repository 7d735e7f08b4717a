/** What a request of the simulated service carries along, and how each of its refusals looks. */

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Principal } from '../world/key-ring.ts';
import type { World } from '../world/world.ts';

export interface UpstreamEnv {
  /** Without a server, as in a test of the app alone, there is no socket. */
  Bindings: Partial<HttpBindings>;
  Variables: { requestId: string; principal: Principal; world: World };
}

export type UpstreamContext = Context<UpstreamEnv>;

type RefusalStatus = 400 | 401 | 403 | 404 | 409 | 423 | 429 | 500 | 503;

/** Observed body of every refusal: `code` is mostly empty. */
export function refusal(c: UpstreamContext, status: RefusalStatus, message: string): Response {
  return c.json({ request_id: c.get('requestId'), code: '', message }, status);
}
