/**
 * For subscribers: `import { parseBridgeEvent } from 'operations-bridge/events'`. Types and checks of the events, from the
 * definitions that the bridge itself publishes by.
 */

import * as z from 'zod';
import { eventCatalog } from './catalog.ts';
import { EVENT_SOURCE } from './event-names.ts';

export * from './catalog.ts';

type Definition = (typeof eventCatalog)[number];

/** An event of the bridge; its detail type says which one. */
export type BridgeEvent = {
  [Type in Definition['detailType']]: {
    readonly detailType: Type;
    readonly detail: z.output<Extract<Definition, { detailType: Type }>['detail']>;
    /** Set when it comes from the archive. */
    readonly replayName: string | undefined;
  };
}[Definition['detailType']];

const envelope = z.object({
  source: z.literal(EVENT_SOURCE),
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  detail: z.unknown(),
});

/**
 * What EventBridge hands over (also as the body of an SQS message, once parsed). Undefined: no event of the bridge, or of a type
 * that this version does not know. Throws `ZodError` when a known one is not of its form: fields are only ever added, so that
 * is news for whoever runs the bridge.
 */
export function parseBridgeEvent(event: unknown): BridgeEvent | undefined {
  const parsed = envelope.safeParse(event);
  if (!parsed.success) return undefined;
  const { 'detail-type': detailType, 'replay-name': replayName, detail } = parsed.data;
  const definition = eventCatalog.find((each) => each.detailType === detailType);
  if (definition === undefined) return undefined;
  return { detailType, replayName, detail: definition.detail.parse(detail) } as BridgeEvent;
}

/** Remembers ids, so that a copy is seen as one; in memory, for a consumer that lives on. Keep ids in a table otherwise. */
export function createDuplicateFilter(idsMax = 10_000): (id: string) => boolean {
  const seen = new Set<string>();
  return (id) => {
    if (seen.has(id)) return true;
    seen.add(id);
    const [oldest] = seen;
    if (seen.size > idsMax && oldest !== undefined) seen.delete(oldest);
    return false;
  };
}
