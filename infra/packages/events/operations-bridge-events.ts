/** Everything that the package `operations-bridge-events` exports. */

export type * from './event-details.ts';
export { eventSchemas } from './event-schemas.ts';
export { type Effect, type EffectOptions, forEachNew, ifNew, type QueueRecord } from './for-each-new.ts';
export {
  type BegunMark,
  createMemoryMarks,
  createTableMarks,
  type MarkOptions,
  type Marks,
  type MarkTable,
  type MemoryMarkOptions,
  type TableMarkOptions,
} from './marks.ts';
export { type BridgeEvent, type ParseOptions, parseBridgeEvent } from './parse-bridge-event.ts';
export { SignatureError, verifySignature, type WebhookHeaders } from './verify-signature.ts';
