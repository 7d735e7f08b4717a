/**
 * Takes events from the queue: it stores what each channel has to report, then lets every channel send on its own.
 */

import { toError } from '../../shared/runtime/errors.ts';
import { type FreshNotices, type StoreEventDeps, storeEvent } from './intake/store-event.ts';
import { type StoredMutes, withStoredMutes } from './intake/stored-mutes.ts';
import { SEND_BUDGET_MS } from './invocations.ts';
import { onEachChannel } from './sending/each-channel.ts';
import { sendDue } from './sending/send-due.ts';
import type { SendDeps } from './sending/turn.ts';

export type NotifyDeps = SendDeps & StoreEventDeps & { readonly store: { readonly mutes: StoredMutes } };

export interface QueueRecord {
  readonly messageId: string;
  readonly body: string;
}

/**
 * This is Lambda's partial batch response. The queue hands out these records again, and they end in the dead-letter
 * queue.
 */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

export async function notify(deps: NotifyDeps, records: readonly QueueRecord[]): Promise<BatchResponse> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  const fresh: FreshNotices = new Map(deps.channels.map(({ name }) => [name, []]));
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const { messageId, body } of records) {
    try {
      await storeEvent(deps, body, fresh);
    } catch (error) {
      const { name } = toError(error);
      deps.telemetry.log('error', 'alert.not_stored', { message_id: messageId, reason: name });
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  await onEachChannel(deps, async (channel) => {
    const own = fresh.get(channel.name) ?? [];
    if (own.length > 0)
      await sendDue(await withStoredMutes(deps), channel, {
        fresh: own,
        acknowledged: [],
        deadlineMs,
      });
  });
  // A stored notice is safe. The sweep repeats a send that failed, so the queue does not have to.
  return { batchItemFailures };
}
