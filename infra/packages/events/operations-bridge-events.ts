/** Everything that the package `operations-bridge-events` exports. */

export { type BridgeEvent, type ParseOptions, parseBridgeEvent } from './delivered-event.ts';
export {
  type BegunMark,
  createMemoryMarks,
  createTableMarks,
  type Effect,
  type EffectOptions,
  forEachNew,
  ifNew,
  type MarkOptions,
  type Marks,
  type MarkTable,
  type MemoryMarkOptions,
  type QueueRecord,
  type TableMarkOptions,
} from './effects.ts';
export type * from './event-details.ts';
export { eventSchemas } from './event-schemas.ts';
export { SignatureError, verifySignature, type WebhookHeaders } from './verify-signature.ts';
