/**
 * Defines what every channel is to the rest of the notifier: a name, its limits, and one call that sends a message.
 */

import type { Operations } from '../../../../shared/alerts/incidents/incident-record.ts';
import type { Thread } from '../../deciding/incident.ts';
import type { Message, MessageLimits } from '../../deciding/message-plan.ts';

export type SendResult =
  /** `thread` says where the channel now keeps the message of an incident. */
  | { readonly kind: 'sent'; readonly thread?: Thread | undefined }
  /** The message itself is at fault, so sending it again does not help. */
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
      /** When true, no answer came, so the message may have been shown all the same. */
      readonly isUncertain?: boolean;
    };

/** A sender sends messages at its own pace. */
export interface Sender {
  readonly pace: MessageLimits;
  /**
   * Sends one message. It never throws, and bounds its own time. `thread` and `operations` belong to the message's incident, when the
   * message is about a single one.
   */
  send(message: Message, thread?: Thread, operations?: Operations): Promise<SendResult>;
}

export interface Channel extends Sender {
  /** The name of the channel's kind stands in routes, keys of the table and log lines. */
  readonly name: string;
}
