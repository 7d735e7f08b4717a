/** The feed's events, and the form in which a rule of EventBridge would deliver them. */

import * as z from 'zod';

export const feedEvent = z.looseObject({
  id: z.string(),
  detail_type: z.string(),
  source: z.string(),
  time: z.string(),
  detail: z.record(z.string(), z.unknown()),
});

export type FeedEvent = z.output<typeof feedEvent>;

export interface EventEnvelope {
  readonly version: '0';
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly time: string;
  readonly resources: readonly string[];
  readonly detail: Readonly<Record<string, unknown>>;
}

/** On the bus, AWS gives every copy an envelope id of its own; here it is the id of the event. */
export function envelopeOf({ id, detail_type, source, time, detail }: FeedEvent): EventEnvelope {
  return { version: '0', id, 'detail-type': detail_type, source, time, resources: [], detail };
}
