/**
 * Defines what every channel is to the rest of the notifier: a name, its limits, and one call that sends a message.
 */

import type { Operations } from '../../../../shared/alerts/incidents/incident-record.ts';
import type { Thread } from '../../deciding/messages/incident.ts';
import type { Message, MessageLimits } from '../../deciding/messages/message-plan.ts';
import type { Notice } from '../../deciding/notices/notice.ts';

export type SendResult =
  /**
   * `thread` says where the channel now keeps the message of an incident. `ring` is the message by which people were
   * notified, or `joined` when the message joined the one that rang last and notified nobody.
   */
  | {
      readonly kind: 'sent';
      readonly thread?: Thread | undefined;
      readonly ring?: Ring | 'joined' | undefined;
    }
  /** The message itself is at fault, so sending it again does not help. */
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly retryAfterMs?: number | undefined;
      /** When true, no answer came, so the message may have been shown all the same. */
      readonly isUncertain?: boolean;
    };

/** Names a message of the channel that has notified people, so that others can join it. */
export interface Ring {
  readonly channel: string;
  readonly ts: string;
}

/** The message that rang last, with the critical notices that have joined it silently since. */
export interface LastRing extends Ring {
  readonly silent: readonly { readonly line: string }[];
  /** Further ones have joined, which `silent` has no room for. */
  readonly more_count: number;
  /** People were notified just now, so what comes now joins the message. */
  readonly isFresh: boolean;
}

/** The keys are the names of incidents. The values say how their operations stood when they were last reported. */
export type OperationsByIncident = ReadonlyMap<string, Operations>;

/** A sender sends messages at its own pace. */
export interface Sender {
  readonly pace: MessageLimits;
  /**
   * When false, the alerts of other incidents are not gathered after a message, because they interrupt no person who is
   * at the console already. Without it they are.
   */
  readonly isGathered?: false;
  /** When true, the channel is notified when a person acknowledges an incident that it has reported. */
  readonly hearsOfAcknowledgements?: true;
  /** Returns whether the channel gets such a notice at all. Without it the channel gets every one. */
  takes?(notice: Pick<Notice, 'kind'>): boolean;
  /**
   * Sends one message. It never throws, and bounds its own time. `thread` belongs to the message's incident, when the
   * message is about a single one. A message that rings names what has joined `last` silently.
   */
  send(
    message: Message,
    thread?: Thread,
    operations?: OperationsByIncident,
    last?: LastRing,
  ): Promise<SendResult>;
  /** Notifies people of what has joined the message silently. A channel without it joins no messages. */
  readonly ring?: (last: LastRing) => Promise<SendResult>;
  /**
   * Renders the message of an incident anew, with what `thread.care` says, and sends no new one. It never throws, and
   * bounds its own time. A channel without it keeps no such messages.
   */
  readonly edit?: (thread: Thread, operations: Operations) => Promise<SendResult>;
}

export interface Channel extends Sender {
  /** The name of the channel's kind stands in routes, keys of the table and log lines. */
  readonly name: string;
}
