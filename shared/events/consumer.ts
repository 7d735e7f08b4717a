/**
 * Gives subscribers types and checks of the events, from the definitions that the bridge itself publishes by: `import
 * { parseBridgeEvent } from 'operations-bridge/events'`.
 */

import * as z from 'zod';
import { eventCatalog } from './catalog.ts';
import { EVENT_SOURCE } from './event-names.ts';

export * from './catalog.ts';

type Definition = (typeof eventCatalog)[number];

/** The detail type says which event of the bridge this is. */
export type BridgeEvent = {
  [Type in Definition['detailType']]: {
    readonly detailType: Type;
    readonly detail: z.output<Extract<Definition, { detailType: Type }>['detail']>;
    /** It is set when the event comes from the archive. */
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
 * Takes what EventBridge hands over (also as the body of an SQS message, once parsed). Returns undefined when it is
 * no event of the bridge, or one of a type that this version does not know. Throws `ZodError` when a known event does
 * not have its form. Fields are only ever added, so the operators of the bridge should hear of that.
 */
export function parseBridgeEvent(event: unknown): BridgeEvent | undefined {
  const parsed = envelope.safeParse(event);
  if (!parsed.success) return undefined;
  const { 'detail-type': detailType, 'replay-name': replayName, detail } = parsed.data;
  const definition = eventCatalog.find((each) => each.detailType === detailType);
  if (definition === undefined) return undefined;
  return { detailType, replayName, detail: definition.detail.parse(detail) } as BridgeEvent;
}

/**
 * Remembers ids in memory, so that a copy is recognized by a consumer that keeps running. Any other consumer should
 * keep ids in a table.
 */
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
