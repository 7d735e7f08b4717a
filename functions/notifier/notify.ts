/** Takes events from the queue: stores what each channel has to tell, then lets every channel send on its own. */

import * as z from 'zod';
import { noticeOf } from '../../shared/alerts/notice.ts';
import { channelsFor } from '../../shared/alerts/policy.ts';
import { toError } from '../../shared/runtime/errors.ts';
import type { Key } from '../../shared/store/table.ts';
import { type Channel, type SendDeps, sendUntold } from './send-untold.ts';

export interface NotifierDeps extends SendDeps {
  readonly channels: readonly Channel[];
}

export interface QueueRecord {
  readonly messageId: string;
  readonly body: string;
}

/** Lambda's partial batch response: only these come again, and end in the dead-letter queue. */
export interface BatchResponse {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

const busEvent = z.object({
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  detail: z.record(z.string(), z.unknown()),
});

export async function notify(deps: NotifierDeps, records: readonly QueueRecord[]): Promise<BatchResponse> {
  const freshKeys = new Map<string, Key[]>(deps.channels.map(({ name }) => [name, []]));
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const { messageId, body } of records) {
    try {
      await store(deps, body, freshKeys);
    } catch (error) {
      const { name } = toError(error);
      deps.telemetry.log('error', 'alert.not_stored', { message_id: messageId, reason: name });
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  await sendOnAll(deps, freshKeys);
  // What is stored is safe: a send that failed is the sweep's to repeat, and not the queue's.
  return { batchItemFailures };
}

/** Once a minute: digests whose window has closed, mutes that have ended, and what an outage or a crash left. */
export function sweep(deps: NotifierDeps): Promise<void> {
  return sendOnAll(deps, new Map());
}

async function store(deps: NotifierDeps, body: string, freshKeys: Map<string, Key[]>): Promise<void> {
  const event = busEvent.parse(JSON.parse(body));
  // The rule keeps replays out already; a rule is configuration, and this is the promise.
  if (event['replay-name'] !== undefined) return;
  const notice = noticeOf(event['detail-type'], event.detail);
  if (notice === undefined) return;
  const wanted = new Set<string>(channelsFor(notice, deps.policy));
  for (const { name } of deps.channels) {
    if (!wanted.has(name)) continue;
    const key = await deps.store.add(name, notice);
    if (key !== undefined) freshKeys.get(name)?.push(key);
  }
}

/** At the same time and apart: neither the outage nor the slowness of one reaches another. */
async function sendOnAll(deps: NotifierDeps, freshKeys: ReadonlyMap<string, readonly Key[]>): Promise<void> {
  await Promise.all(
    deps.channels.map(async (channel) => {
      try {
        await sendUntold(deps, channel, freshKeys.get(channel.name));
      } catch (error) {
        const { name } = toError(error);
        deps.telemetry.log('error', 'alert.channel_failed', { channel: channel.name, reason: name });
      }
    }),
  );
}
