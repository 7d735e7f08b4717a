/** Decides whether a mute keeps a notice back, and until when. */

import { incidentIdOf, incidentOf } from '../../../../shared/alerts/incident-key.ts';
import { isInScope, type Mute } from '../../../../shared/alerts/mutes/mute.ts';
import type { Notice } from '../notices/notice.ts';
import type { AlertPolicy } from './alert-policy.ts';
import { covers } from './project-list.ts';

/** The mutes of the configuration, which cover all accounts. */
export interface Mutes extends Pick<AlertPolicy, 'mutes'> {
  /** People set these while the bridge runs. Those that ended within the last day are among them. */
  readonly stored_mutes?: readonly Mute[] | undefined;
}

type Mutable = Pick<Notice, 'kind' | 'account_id' | 'project_id' | 'action'>;

/**
 * Returns when the last mute that covers the notice now ends, and 0 when none does. A notice about a channel is never
 * muted.
 */
export function mutedUntilMs(notice: Mutable, { mutes, stored_mutes = [] }: Mutes, nowMs: number): number {
  if (notice.kind === 'channel_deaf' || notice.kind === 'channel_back') return 0;
  const ends = [
    ...mutes.filter(({ project_ids }) => covers(project_ids, notice.project_id)),
    ...stored_mutes
      .filter((mute) => isInScope(mute, subjectOf(notice, mute)))
      .map(({ created_at, until }) => ({ from: created_at, until })),
  ]
    .filter(({ from }) => Date.parse(from) <= nowMs)
    .map(({ until }) => Date.parse(until))
    .filter((untilMs) => untilMs > nowMs);
  return Math.max(0, ...ends);
}

/** The id of an incident is a hash, so it is made only for a mute that names one. */
function subjectOf({ account_id, project_id, action }: Mutable, { incident_id }: Pick<Mute, 'incident_id'>) {
  const subject = { account_id, project_id, action };
  return incident_id === undefined ? subject : { ...subject, incident_id: incidentIdOf(incidentOf(subject)) };
}

/** Returns whether a mute that a person set while the bridge ran covered the notice when it was stored. */
export function wasMutedByPerson(notice: Mutable, { stored_mutes }: Mutes, storedAtMs: number): boolean {
  return mutedUntilMs(notice, { mutes: [], stored_mutes }, storedAtMs) > 0;
}

/** Returns whether a mute covered the notice when it was stored. */
export function wasMuted(notice: Mutable, mutes: Mutes, storedAtMs: number): boolean {
  return mutedUntilMs(notice, mutes, storedAtMs) > 0;
}
