/** Everything that the package `operations-bridge-events` exports. */

export { createDuplicateFilter } from './duplicate-filter.ts';
export type * from './event-details.ts';
export { eventSchemas } from './event-schemas.ts';
export { type BridgeEvent, type ParseOptions, parseBridgeEvent } from './parse-bridge-event.ts';
export { createSequenceGuard } from './sequence-guard.ts';
export { SignatureError, verifySignature, type WebhookHeaders } from './verify-signature.ts';
