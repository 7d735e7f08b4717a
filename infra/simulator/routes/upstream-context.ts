/** Defines what a request of the simulated service carries along, and how each refusal looks. */

import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { Principal } from '../world/account/key-ring.ts';
import type { Refused } from '../world/state/outcome.ts';
import type { World } from '../world/world.ts';

export interface UpstreamEnv {
  /** There is no socket when a test calls the app without a server. */
  Bindings: Partial<HttpBindings>;
  Variables: { requestId: string; principal: Principal; world: World };
}

export type UpstreamContext = Context<UpstreamEnv>;

type RefusalStatus = Refused['status'] | 401 | 429 | 500 | 503;

/** Every refusal has this body; `code` is mostly empty (observed). */
export function refusal(c: UpstreamContext, status: RefusalStatus, message: string, code = ''): Response {
  return c.json({ request_id: c.get('requestId'), code, message }, status);
}

export function refuse(c: UpstreamContext, { status, message, code }: Refused): Response {
  return refusal(c, status, message, code);
}
