/**
 * What a channel still has to tell of one incident. The first notice of each kind is told at once; more of that kind
 * within the window wait and are told together. Nothing leaves `pending` but by being told.
 */

import * as z from 'zod';
import { type Notice, noticeSchema } from './notice.ts';

/** The message that a channel keeps for an incident, when it can: it grows in place, and the rest goes into its thread. */
export const threadSchema = z.object({
  channel: z.string(),
  /** As Slack names the message. */
  ts: z.string(),
  /** What the incident began with. */
  first: noticeSchema,
  toldCount: z.number(),
  /** The incident has recovered: what comes next begins another message. */
  isOver: z.boolean(),
});

export type Thread = z.infer<typeof threadSchema>;

export const incidentSchema = z.object({
  pending: z.array(noticeSchema),
  /** Ids that were told: a copy that comes later is known. The newest ones. */
  told_ids: z.array(z.string()),
  /** When each kind and severity was told last. */
  told_at_ms: z.record(z.string(), z.number()),
  /** Absent: no message of it is open. */
  thread: threadSchema.optional(),
});

export type Incident = z.infer<typeof incidentSchema>;

export const emptyIncident: Incident = { pending: [], told_ids: [], told_at_ms: {} };

/** A copy is at most a day late (EventBridge and SQS keep trying that long); so many of one incident are kept in mind. */
export const TOLD_IDS_MAX = 500;

/** About 300 bytes each: below the 400 KB of an item. What comes on top stays in the queue until some are told. */
export const PENDING_COUNT_MAX = 700;

/** `known`: a copy. `full`: to be offered again later. */
export function addNotice(incident: Incident, notice: Notice): Incident | 'known' | 'full' {
  const isKnown =
    incident.told_ids.includes(notice.id) || incident.pending.some(({ id }) => id === notice.id);
  if (isKnown) return 'known';
  if (incident.pending.length >= PENDING_COUNT_MAX) return 'full';
  return { ...incident, pending: [...incident.pending, notice] };
}

/** When the pending notices are to be told; infinity when there are none. */
export function dueAtMs(incident: Incident, windowMs: number): number {
  const times = incident.pending.map((notice) => {
    const toldAtMs = incident.told_at_ms[paceKey(notice)];
    return toldAtMs === undefined ? 0 : toldAtMs + windowMs;
  });
  return Math.min(...times, Number.POSITIVE_INFINITY);
}

/** After a message with these notices went out; others may have come in meanwhile, and stay. */
export function noteTold(
  incident: Incident,
  notices: readonly Notice[],
  { nowMs, thread }: { readonly nowMs: number; readonly thread?: Thread | undefined },
): Incident {
  const ids = new Set(notices.map(({ id }) => id));
  const toldAt = notices.map((notice) => [paceKey(notice), nowMs] as const);
  return {
    pending: incident.pending.filter(({ id }) => !ids.has(id)),
    told_ids: [...incident.told_ids.filter((id) => !ids.has(id)), ...ids].slice(-TOLD_IDS_MAX),
    told_at_ms: { ...incident.told_at_ms, ...Object.fromEntries(toldAt) },
    ...(thread && { thread }),
  };
}

/** An escalation is a kind of its own: it does not wait behind the harmless failures before it. */
function paceKey({ kind, severity }: Notice): string {
  return `${kind} ${severity}`;
}
