/** Lists calls that hand out or revoke keys which the bridge cannot limit. A configuration opens them by name. */

import * as z from 'zod';
import type { PublicCall } from '../upstream/public-calls/public-call.ts';
import { type PublicCallId, publicCalls } from '../upstream/public-calls/public-calls.ts';

export type ClosedCallId = {
  [Id in PublicCallId]: (typeof publicCalls)[Id] extends { readonly isClosed: true } ? Id : never;
}[PublicCallId];

const CLOSED_CALLS = Object.entries<PublicCall>(publicCalls)
  .filter(([, { isClosed }]) => isClosed)
  .map(([id]) => id as ClosedCallId);

export const openCalls = z.array(z.enum(CLOSED_CALLS)).max(CLOSED_CALLS.length);
