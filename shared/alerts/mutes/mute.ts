/** Defines a mute: which alerts people do not want for a time, who asked for that, until when, and why. */

import * as z from 'zod';
import { DAY_MS, MINUTE_MS } from '../../core/time/durations.ts';

/** What is muted for longer than a month should be routed to no channel instead, where it can be seen. */
export const MUTE_MS_MAX = 30 * DAY_MS;

/** The notifier's schedule runs once a minute, so a shorter mute could have no effect. */
export const MUTE_MS_MIN = MINUTE_MS;

/** The reason stands in lists and digests, so it is short, and one line. */
export const MUTE_REASON_CHARACTERS_MAX = 300;

/** People lose track of more, and the notifier reads all of them in each of its rounds. */
export const ACTIVE_MUTES_MAX = 100;

/**
 * A mute covers what all its fields fit: the whole account without any of them, a project, an action, an action of a
 * project, or one incident.
 */
const muteScope = z.object({
  project_id: z.string().optional(),
  action: z.string().optional(),
  /** The id is that of `incidentIdOf`. */
  incident_id: z.string().optional(),
});

export const mute = z.object({
  mute_id: z.string(),
  account_id: z.string(),
  ...muteScope.shape,
  /** A person wrote it for people. */
  reason: z.string(),
  /** The caller who muted. */
  client_id: z.string(),
  /** ISO 8601 with milliseconds, by our clock. */
  created_at: z.string(),
  /** ISO 8601 with milliseconds. A mute that was lifted ends when it was lifted. */
  until: z.string(),
  /** The caller who lifted the mute before its end. */
  lifted_by: z.string().optional(),
});

export type MuteScope = Readonly<z.output<typeof muteScope>>;
export type Mute = Readonly<z.output<typeof mute>>;

/** The incident to which a notice belongs decides whether a mute covers the notice. */
export interface Mutable extends MuteScope {
  readonly account_id: string;
}

/** Returns whether the mute covers this at any time. */
export function isInScope(scope: MuteScope & Pick<Mute, 'account_id'>, subject: Mutable): boolean {
  const { account_id, project_id, action, incident_id } = scope;
  return (
    account_id === subject.account_id &&
    (project_id === undefined || project_id === subject.project_id) &&
    (action === undefined || action === subject.action) &&
    (incident_id === undefined || incident_id === subject.incident_id)
  );
}

/** Returns whether the mute has not ended at this time. */
export function isActive({ until }: Pick<Mute, 'until'>, nowMs: number): boolean {
  return Date.parse(until) > nowMs;
}
