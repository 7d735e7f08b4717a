/** What every channel is to the rest of the notifier: a name, its limits, and one call that sends a message. */

import type { Thread } from '../../../shared/alerts/incident.ts';
import type { Operations } from '../../../shared/alerts/operation-standing.ts';
import type { Message, MessageLimits } from './message-plan.ts';

export type SendResult =
  /** `thread`: where a message of one incident now stands. */
  | { readonly kind: 'sent'; readonly thread?: Thread | undefined }
  /** This message will not become better by sending it again. */
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
      /** No answer came, so that the message may have been shown all the same. */
      readonly isUncertain?: boolean;
    };

export interface Channel {
  readonly name: string;
  readonly pace: MessageLimits;
  /** Bounded in time by itself; never throws. `thread`, `operations`: of the message's one incident, when there is one. */
  send(message: Message, thread?: Thread, operations?: Operations): Promise<SendResult>;
}
