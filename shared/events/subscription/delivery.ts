/** Names how events are delivered to a subscriber, and what happens to those that cannot be delivered. */

/**
 * EventBridge tries again for a day, at most 185 times. These are its own defaults; the files name them so that a
 * subscriber sees them.
 */
export const RETRY_POLICY = { maximumAgeSeconds: 86_400, maximumAttempts: 185 } as const;

/** SQS keeps a message for at most 14 days. */
export const DEAD_LETTER_RETENTION_SECONDS = 1_209_600;

/** A message that the consumer failed to process this many times goes to the dead-letter queue. */
export const RECEIVES_MAX = 5;

/** EventBridge sends at most this many events a second to an HTTPS address; the others wait. */
export const REQUESTS_PER_SECOND_MAX = 10;
