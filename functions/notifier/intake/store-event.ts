/** Stores the notice that an event from the queue makes, for each channel that has to report it. */

import * as z from 'zod';
import { REPLAY_RESOURCE } from '../../../shared/events/event-names.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import type { Channel } from '../channels/kind/channel.ts';
import type { Notice } from '../deciding/notices/notice.ts';
import { noticeOf } from '../deciding/notices/notice-of-event.ts';
import type { PendingNotice } from '../deciding/notices/pending-notice.ts';
import type { AlertPolicy } from '../deciding/policy/alert-policy.ts';
import { isWantedBy, routeOf } from '../deciding/policy/route.ts';
import { type IncidentRecordDeps, recordIncident } from './incident-records.ts';
import type { NoticeInbox } from './notice-inbox.ts';
import { type NameDeps, withProjectName } from './project-name.ts';
import { type UsualDeps, withUsualDuration } from './usual-duration.ts';

export interface StoreEventDeps extends UsualDeps, NameDeps, IncidentRecordDeps {
  readonly store: IncidentRecordDeps['store'] & { readonly inbox: NoticeInbox };
  readonly policy: Pick<AlertPolicy, 'routes' | 'labels' | 'channels'>;
  readonly channels: readonly Channel[];
}

/** Names, for each channel, the notices for it that this invocation has stored. */
export type FreshNotices = ReadonlyMap<string, PendingNotice[]>;

const busEvent = z.object({
  'detail-type': z.string(),
  'replay-name': z.string().optional(),
  resources: z.array(z.string()).default([]),
  detail: z.record(z.string(), z.unknown()),
});

/**
 * Adds what it stores to `fresh`. Throws when the event cannot be read or stored, so that the queue hands it out
 * again.
 */
export async function storeEvent(deps: StoreEventDeps, body: string, fresh: FreshNotices): Promise<void> {
  const event = busEvent.parse(JSON.parse(body));
  // The rule keeps replays out already. This check also holds when the rule is changed.
  if (event['replay-name'] !== undefined || event.resources.some(isReplay)) return;
  const notice = noticeOf(event['detail-type'], event.detail);
  if (notice === undefined) return;
  const stored = withProjectName(deps, notice)
    .then((named) => withUsualDuration(deps, named))
    .then((whole) => storeOnChannels(deps, whole, fresh));
  const results = await Promise.allSettled([stored, recordIncident(deps, notice)]);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  // The alert is stored. The event itself does not fit its schema, so the dead-letter queue keeps it for a person to
  // look at.
  if (notice.unread === 'unknown_value')
    throw new AppError('event_unreadable', `Event ${notice.id} does not fit its schema`);
}

function isReplay(resource: string): boolean {
  return resource.startsWith(REPLAY_RESOURCE);
}

/**
 * Tries every channel, also when the write for another one fails. The queue then repeats the event, and copies are
 * recognised.
 */
async function storeOnChannels(
  { store, policy, telemetry, channels }: StoreEventDeps,
  notice: Notice,
  fresh: FreshNotices,
): Promise<void> {
  const { channels: wanted, isDefault } = routeOf(notice, policy);
  if (isDefault) telemetry.log('warn', 'alert.no_route', { event_id: notice.id, kind: notice.kind });
  const reporting = channels.filter(
    (channel) =>
      (wanted === 'every' || wanted.includes(channel.name)) &&
      isWantedBy(channel.name, notice, policy) &&
      (channel.takes?.(notice) ?? true),
  );
  const results = await Promise.allSettled(
    reporting.map(async ({ name }) => {
      const pending = await store.inbox.add(name, notice);
      if (pending !== undefined) fresh.get(name)?.push(pending);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
