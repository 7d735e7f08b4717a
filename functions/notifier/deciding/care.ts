/**
 * Decides what follows when a person takes care of an incident: which notices are not sent any more, and what the
 * message of the incident says of that person.
 */

import * as z from 'zod';
import { incidentIdOf, incidentOf } from '../../../shared/alerts/alert-items.ts';
import { GRAVITIES, type IncidentRecord, isOpen } from '../../../shared/alerts/incidents.ts';
import { isActive, isInScope, type Mute } from '../../../shared/alerts/mutes.ts';
import { HOUR_MS } from '../../../shared/records/time.ts';
import { gravityOf } from './incident-record.ts';
import type { Notice, NoticeKind } from './notice.ts';

/** These end what was reported, so they are news to the person who takes care of it. */
const ENDS: ReadonlySet<NoticeKind> = new Set([
  'recovered',
  'cancelled',
  'stall_ended',
  'moved',
  'account_recovered',
]);

/**
 * Returns whether the person who acknowledged the incident knows already what the notice says. Something worse than what
 * was known then is reported, even while the record does not show it yet, and so is what happened after the incident
 * had ended with its acknowledgement.
 */
export function isAcknowledged(notice: Notice, record: IncidentRecord): boolean {
  const { acknowledged, gravity } = record;
  if (acknowledged === undefined || notice.kind === 'acknowledged' || ENDS.has(notice.kind)) return false;
  if (incidentIdOf(incidentOf(notice)) !== record.incident_id) return false;
  if (!isOpen(record) && !wasBefore(notice, acknowledged.at)) return false;
  return GRAVITIES.indexOf(gravityOf(notice)) <= GRAVITIES.indexOf(gravity);
}

/** A notice that could not be read whole has no time, and is then no reason to be silent. */
function wasBefore({ observed_at }: Notice, at: string): boolean {
  return observed_at !== '' && observed_at <= at;
}

/** Who takes care of an incident: the caller who acknowledged or muted it, with times in ISO 8601. */
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
