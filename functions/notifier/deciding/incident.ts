/**
 * Decides what a channel remembers of one incident: when each kind of notice was reported, how its operations stand,
 * and its message. Notices that wait are items of their own, so an incident does not grow with their number.
 */

import * as z from 'zod';
import { isOngoing, olderIncidentFields, operationsSchema } from '../../../shared/alerts/incidents.ts';
import { careSchema, noteOperations, standingOf } from './incident-record.ts';
import { type Notice, noticeSchema, type PendingNotice, projectOf } from './notice.ts';
import { hasLasted, isByWrongClock, leastPatienceMsOf, mayHeal, type Patience } from './waking.ts';

/** Some channels keep one message for an incident. It is edited in place, and replies go into its thread. */
export const threadSchema = z.object({
  channel: z.string(),
  /** Slack identifies the message by this timestamp. */
  ts: z.string(),
  /** The incident began with this notice. */
  first: noticeSchema,
  /** The latest notice of the message and its thread. Messages of older versions do not know it. */
  latest: noticeSchema.optional(),
  /** When true, its thread has replies. */
  has_replies: z.boolean().optional(),
  /** The message shows that these people take care of the incident. */
  care: careSchema.optional(),
  /** This many notices were reported in the message and its thread. */
  toldCount: z.number(),
  /** When true, the message is a list of many incidents, in which what follows of them stands as well. */
  is_of_many: z.boolean().optional(),
  /** When true, no operation of the incident fails any more, so the next notice begins another message. */
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
  ...olderIncidentFields.shape,
  /** Each kind and severity was last reported at this time. */
  told_at_ms: z.record(z.string(), z.number()).default({}),
  /**
   * Further notices of a kind and severity wait for this time after that. The time grows while the incident goes on.
   */
  window_ms: z.record(z.string(), z.number()).default({}),
  operations: operationsSchema.default({}),
  /** A reminder names this place. */
  place: place.optional(),
  remind_at_ms: z.number().optional(),
  /** Without it the channel has no open message of the incident. */
  thread: threadSchema.optional(),
  /** A list is remembered like an incident. It shows the notices whose items have these sort keys. */
  listed: z.array(z.string()).optional(),
});

export type Incident = z.infer<typeof incidentSchema>;

export const emptyIncident: Incident = incidentSchema.parse({});

/**
 * Two reports of one kind are at most this far apart. What fails all day is reported six times a day, not every five
 * minutes.
 */
const WINDOW_MS_MAX = 4 * 3_600_000;

/** A failure that goes on is reported again after this time. */
export const REMINDER_MS = 86_400_000;

export interface DueTerms {
  readonly nowMs: number;
  readonly windowMs: number;
  readonly patience: Patience;
}

/**
 * Returns whether one of these waiting notices may have to be reported now. If so, all notices of the incident are
 * read and judged.
 */
export function isDue(
  waiting: readonly PendingNotice[],
  incident: Incident,
  { nowMs, windowMs, patience }: DueTerms,
): boolean {
  return waiting.some((pending) => {
    const patienceMs = leastPatienceMsOf(patience, { ...pending, project_id: projectOf(pending) });
    if (mayHeal(pending) && !hasLasted(pending.stored_at_ms, patienceMs, nowMs)) return false;
    // Only a failure that goes on may be told again too soon. What has become critical for good is told at once.
    if (pending.severity === 'critical' && pending.kind !== 'failed') return true;
    const key = paceKey(pending);
    const toldAtMs = incident.told_at_ms[key];
    if (toldAtMs === undefined || isByWrongClock(toldAtMs, nowMs)) return true;
    // The notice already waited when the last message was planned, and found no room in it.
    if (pending.stored_at_ms < toldAtMs) return true;
    return toldAtMs + (incident.window_ms[key] ?? windowMs) <= nowMs;
  });
}

/** Returns the incident after failures of it ended before people were notified of them. Applying it twice gives the same incident. */
export function noteHealed(incident: Incident, notices: readonly Notice[]): Incident {
  return { ...incident, operations: noteOperations(incident.operations, notices) };
}

/**
 * Returns the incident after failures of it were not told, because a person had acknowledged it. If the acknowledgement is withdrawn,
 * the next reminder tells of them. Applying it twice gives the same incident.
 */
export function noteAcknowledged(incident: Incident, notices: readonly Notice[], nowMs: number): Incident {
  const { operations: before } = incident;
  const isTold = (id: string) => isOngoing(before[id]?.state ?? 'unknown') && !before[id]?.is_untold;
  const operations = Object.fromEntries(
    Object.entries(noteOperations(before, notices)).map(([id, standing]) => [
      id,
      isOngoing(standing.state) && !isTold(id) ? { ...standing, is_untold: true } : standing,
    ]),
  );
  const { remind_at_ms = nowMs + REMINDER_MS } = incident;
  return {
    ...incident,
    operations,
    ...placeOf(incident, notices),
    ...(standingOf(operations) === 'failing' && { remind_at_ms }),
  };
}

/** Returns whether a notice of its kind was reported after this one was observed. */
export function wasReported(incident: Incident, notice: Notice): boolean {
  return (incident.told_at_ms[paceKey(notice)] ?? 0) >= Date.parse(notice.observed_at);
}

export interface Reported {
  /** The message was planned at this time. */
  readonly atMs: number;
  readonly windowMs: number;
  readonly thread?: Thread | undefined;
}

/** Returns the incident after a message with these notices went out. Applying it twice gives the same incident. */
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
    ...(thread && {
      thread: thread.is_of_many ? { ...thread, isOver: !isOngoing(standingOf(operations)) } : thread,
    }),
  };
}

/**
 * Returns how long the next notices of a kind wait: as long as before while a digest goes out in parts, twice as long
 * when more came within twice the last wait, and the configured time after a rest.
 */
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

/**
 * Returns the key of a pace. Kind and severity share a pace, so an escalation does not wait behind the harmless
 * failures before it.
 */
function paceKey({ kind, severity }: Pick<Notice, 'kind' | 'severity'>): string {
  return `${kind} ${severity}`;
}
