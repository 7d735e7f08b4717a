/** Decides what the message of an incident says of the people who take care of it: who has acknowledged it, and who has muted it. */

import * as z from 'zod';
import { type IncidentRecord, isOpen } from '../../../../shared/alerts/incidents/incident-record.ts';
import { isActive, isInScope, type Mute } from '../../../../shared/alerts/mutes/mute.ts';
import { HOUR_MS } from '../../../../shared/core/time/durations.ts';

/** Both have the name of a caller, and a time in ISO 8601. */
export const careSchema = z.object({
  acknowledged: z.object({ client_id: z.string(), at: z.string(), reason: z.string().optional() }).optional(),
  muted: z.object({ client_id: z.string(), until: z.string(), reason: z.string().optional() }).optional(),
});

export type Care = z.infer<typeof careSchema>;

/** After a mute was set, lifted or has ended, messages are brought up to date for this long. */
const MUTE_IS_NEWS_MS = HOUR_MS;

/** Returns who takes care of the incident now. Of several mutes, the one that ends last counts. */
export function careOf(record: IncidentRecord, mutes: readonly Mute[], nowMs: number): Care {
  const { acknowledged } = record;
  const muted = isOpen(record)
    ? mutes
        .filter((mute) => isActive(mute, nowMs) && isInScope(mute, record))
        .toSorted((a, b) => (a.until < b.until ? -1 : 1))
        .at(-1)
    : undefined;
  return {
    ...(acknowledged && { acknowledged }),
    ...(muted && { muted: { client_id: muted.client_id, until: muted.until, reason: muted.reason } }),
  };
}

/** Returns whether a message that shows the one need not be edited to show the other. */
export function isSameCare(shown: Care | undefined, now: Care): boolean {
  const { acknowledged, muted } = shown ?? {};
  return (
    acknowledged?.at === now.acknowledged?.at &&
    acknowledged?.client_id === now.acknowledged?.client_id &&
    muted?.until === now.muted?.until &&
    muted?.client_id === now.muted?.client_id
  );
}

/** Returns the mutes that began or ended lately, so that the messages which they concern may still have to be changed. */
export function newsOfMutes(mutes: readonly Mute[], nowMs: number): readonly Mute[] {
  return mutes.filter((mute) => {
    const changedAt = isActive(mute, nowMs) ? mute.created_at : mute.until;
    return nowMs - Date.parse(changedAt) < MUTE_IS_NEWS_MS;
  });
}
