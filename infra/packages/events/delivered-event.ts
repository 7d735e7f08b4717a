/** Turns what EventBridge or a webhook delivers into a typed event of the bridge. */

import * as z from 'zod';
import { EVENT_SOURCE, REPLAY_RESOURCE, TEST_EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import type { BridgeEventDetails } from './event-details.ts';
import { eventSchemas } from './event-schemas.ts';

/** One event of the bridge. The detail type says which one it is, and narrows the type of `detail`. */
export type BridgeEvent = {
  [Type in keyof BridgeEventDetails]: {
    readonly detailType: Type;
    readonly detail: BridgeEventDetails[Type];
    /**
     * Set on a copy that a replay sent: the name of the replay from the archive of the bus, or the resource that marks
     * a replay from the table (`operations-bridge/replay/...`).
     */
    readonly replayName: string | undefined;
    /** True for a sample that `operations-bridge trigger` sent: nothing has happened. */
    readonly isTest: boolean;
  };
}[keyof BridgeEventDetails];

export interface ParseOptions {
  /**
   * `accepted` also returns the samples that `operations-bridge trigger` sends, with `isTest`. By default they are
   * refused like events of others, so that no effect comes of them.
   */
  readonly testEvents?: 'accepted' | 'refused';
}

const envelope = z.object({
  source: z.enum([EVENT_SOURCE, TEST_EVENT_SOURCE]),
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  resources: z.array(z.string()).optional(),
  detail: z.unknown(),
});

/**
 * Takes an event as EventBridge delivers it: the argument of a Lambda function, the parsed body of an SQS message, or
 * the parsed body of a forwarded event. Returns undefined when it is not an event of the bridge, or when its type is newer than
 * this package. Throws `ZodError` when a known event does not have its form: that is a fault which the operators of
 * the bridge should hear of. Fields that are newer than this package are left out.
 */
export function parseBridgeEvent(
  event: unknown,
  { testEvents = 'refused' }: ParseOptions = {},
): BridgeEvent | undefined {
  const parsed = envelope.safeParse(event);
  if (!parsed.success) return undefined;
  const isTest = parsed.data.source === TEST_EVENT_SOURCE;
  if (isTest && testEvents === 'refused') return undefined;
  const { 'detail-type': detailType, 'replay-name': archiveReplay, resources = [], detail } = parsed.data;
  const replayName = archiveReplay ?? resources.find((resource) => resource.startsWith(REPLAY_RESOURCE));
  if (!isKnown(detailType)) return undefined;
  return { detailType, replayName, isTest, detail: eventSchemas[detailType].parse(detail) } as BridgeEvent;
}

function isKnown(detailType: string): detailType is keyof BridgeEventDetails {
  return Object.hasOwn(eventSchemas, detailType);
}
