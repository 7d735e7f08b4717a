/**
 * What a channel remembers of one incident: when which kind was reported, how its operations stand, and its message. The
 * notices that wait are items of their own, so that nothing here grows with their number.
 */

import * as z from 'zod';
import { type Notice, noticeSchema } from './notice.ts';
import { noteOperations, operationsSchema, standingOf } from './operation-standing.ts';
import type { PendingNotice } from './pending-notice.ts';

/** The message that a channel keeps for an incident, when it can: it grows in place, and the rest goes into its thread. */
export const threadSchema = z.object({
  channel: z.string(),
  /** As Slack names the message. */
  ts: z.string(),
  /** What the incident began with. */
  first: noticeSchema,
  toldCount: z.number(),
  /** No operation of the incident fails any more: what comes next begins another message. */
  isOver: z.boolean(),
});

export type Thread = z.infer<typeof threadSchema>;

const place = z.object({
  account_id: z.string(),
  project_id: z.string().optional(),
  action: z.string().optional(),
  channel: z.string().optional(),
  since: z.string().optional(),
});

export const incidentSchema = z.object({
  /** Written by versions before 2026-11: notices that waited in this item. They are moved to items of their own. */
  pending: z.array(z.unknown()).default([]),
  /** Written by the same versions: ids that were reported, so that a copy is known. */
  told_ids: z.array(z.string()).default([]),
  /** When each kind and severity was reported last. */
  told_at_ms: z.record(z.string(), z.number()).default({}),
  /** How long more of a kind and severity wait after that. It grows while the incident goes on. */
  window_ms: z.record(z.string(), z.number()).default({}),
  operations: operationsSchema.default({}),
  /** For a reminder. */
  place: place.optional(),
  remind_at_ms: z.number().optional(),
  /** Absent: no message of it is open. */
  thread: threadSchema.optional(),
});

export type Incident = z.infer<typeof incidentSchema>;

export const emptyIncident: Incident = incidentSchema.parse({});

/** Something that fails all day is reported six times a day, and not every five minutes. */
const WINDOW_MS_MAX = 4 * 3_600_000;

/** What goes on failing is brought to mind as often. */
export const REMINDER_MS = 86_400_000;

/** Whether one of these waiting notices is to be reported now; then all of the incident are. */
export function isDue(
  waiting: readonly PendingNotice[],
  incident: Incident,
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): boolean {
  return waiting.some((pending) => {
    const key = paceKey(pending);
    const toldAtMs = incident.told_at_ms[key];
    // A time ahead of now is a wrong clock's.
    if (toldAtMs === undefined || toldAtMs > nowMs) return true;
    // It waited already when the last message was planned and found no room in it.
    if (pending.stored_at_ms < toldAtMs) return true;
    return toldAtMs + (incident.window_ms[key] ?? windowMs) <= nowMs;
  });
}

export interface Reported {
  /** When the message was planned. */
  readonly atMs: number;
  readonly windowMs: number;
  readonly thread?: Thread | undefined;
}

/** After a message with these notices went out. Doing it twice changes nothing more. */
export function noteReported(
  incident: Incident,
  notices: readonly Notice[],
  { atMs, windowMs, thread }: Reported,
): Incident {
  const keys = [...new Set(notices.map(paceKey))];
  const operations = noteOperations(incident.operations, notices);
  const { remind_at_ms: _before, ...rest } = incident;
  return {
    ...rest,
    told_at_ms: { ...incident.told_at_ms, ...Object.fromEntries(keys.map((key) => [key, atMs])) },
    window_ms: {
      ...incident.window_ms,
      ...Object.fromEntries(keys.map((key) => [key, nextWindowMs(incident, key, { atMs, windowMs })])),
    },
    operations,
    ...placeOf(incident, notices),
    ...(standingOf(operations) === 'failing' && { remind_at_ms: atMs + REMINDER_MS }),
    ...(thread && { thread }),
  };
}

/** The same while a digest goes out in parts, twice as long when more came within the next one, and the first after a rest. */
function nextWindowMs(incident: Incident, key: string, { atMs, windowMs }: Reported): number {
  const toldAtMs = incident.told_at_ms[key];
  const lastMs = incident.window_ms[key] ?? windowMs;
  if (toldAtMs === undefined) return windowMs;
  const elapsedMs = atMs - toldAtMs;
  if (elapsedMs < 0 || elapsedMs > 2 * lastMs) return windowMs;
  return elapsedMs < lastMs ? lastMs : Math.max(windowMs, Math.min(2 * lastMs, WINDOW_MS_MAX));
}

function placeOf({ place: known }: Incident, [first]: readonly Notice[]): Pick<Incident, 'place'> {
  if (known !== undefined || first === undefined) return known ? { place: known } : {};
  const { account_id, project_id, action, channel, since = first.observed_at } = first;
  return {
    place: {
      account_id,
      since,
      ...(project_id !== undefined && { project_id }),
      ...(action !== undefined && { action }),
      ...(channel !== undefined && { channel }),
    },
  };
}

/** An escalation is a kind of its own: it does not wait behind the harmless failures before it. */
function paceKey({ kind, severity }: Pick<Notice, 'kind' | 'severity'>): string {
  return `${kind} ${severity}`;
}
