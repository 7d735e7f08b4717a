/** Takes events from the queue: stores what each channel has to report, then lets every channel send on its own. */

import * as z from 'zod';
import { type Notice, noticeOf } from '../../shared/alerts/notice.ts';
import type { PendingNotice } from '../../shared/alerts/pending-notice.ts';
import { AppError, toError } from '../../shared/runtime/errors.ts';
import type { Channel } from './channels/channel.ts';
import type { SendDeps } from './plan-round.ts';
import { routeOf } from './policy.ts';
import { sendDue } from './send-due.ts';

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

/** A message that begins within it has 25 s for its answer and is noted before the function's 60 s are over. */
export const SEND_BUDGET_MS = 28_000;

const busEvent = z.object({
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  detail: z.record(z.string(), z.unknown()),
});

/** By channel: what this invocation has stored. */
type Fresh = Map<string, PendingNotice[]>;

export async function notify(deps: NotifierDeps, records: readonly QueueRecord[]): Promise<BatchResponse> {
  const deadlineMs = deps.clock.now() + SEND_BUDGET_MS;
  const fresh: Fresh = new Map(deps.channels.map(({ name }) => [name, []]));
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const { messageId, body } of records) {
    try {
      await store(deps, body, fresh);
    } catch (error) {
      const { name } = toError(error);
      deps.telemetry.log('error', 'alert.not_stored', { message_id: messageId, reason: name });
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  }
  await onEachChannel(deps, async (channel) => {
    const own = fresh.get(channel.name) ?? [];
    if (own.length > 0) await sendDue(deps, channel, { fresh: own, deadlineMs });
  });
  // What is stored is safe: a send that failed is the sweep's to repeat, and not the queue's.
  return { batchItemFailures };
}

async function store(deps: NotifierDeps, body: string, fresh: Fresh): Promise<void> {
  const event = busEvent.parse(JSON.parse(body));
  // The rule keeps replays out already; a rule is configuration, and this is the promise.
  if (event['replay-name'] !== undefined) return;
  const notice = noticeOf(event['detail-type'], event.detail);
  if (notice === undefined) return;
  await storeOnChannels(deps, notice, fresh);
  // People have an alert of it. The event itself is kept for them in the dead-letter queue: it does not fit its own schema.
  if (notice.unread === 'unknown_value')
    throw new AppError('event_unreadable', `Event ${notice.id} does not fit its schema`);
}

/** On each of them, also when another one's write fails: the queue then repeats the event, and copies are known. */
async function storeOnChannels(deps: NotifierDeps, notice: Notice, fresh: Fresh): Promise<void> {
  const { channels, isDefault } = routeOf(notice, deps.policy);
  if (isDefault) deps.telemetry.log('warn', 'alert.no_route', { event_id: notice.id, kind: notice.kind });
  const wanted: ReadonlySet<string> = new Set(channels);
  const results = await Promise.allSettled(
    deps.channels
      .filter(({ name }) => wanted.has(name))
      .map(async ({ name }) => {
        const pending = await deps.store.notices.add(name, notice);
        if (pending !== undefined) fresh.get(name)?.push(pending);
      }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** At the same time and apart: neither the outage nor the slowness of one reaches another. */
export async function onEachChannel(
  { channels, telemetry }: NotifierDeps,
  task: (channel: Channel) => Promise<void>,
): Promise<void> {
  await Promise.all(
    channels.map(async (channel) => {
      try {
        await task(channel);
      } catch (error) {
        const { name } = toError(error);
        telemetry.log('error', 'alert.channel_failed', { channel: channel.name, reason: name });
        telemetry.measure('AlertsFailed', 1);
      }
    }),
  );
}
