/**
 * Makes messages of notices that were read, and adds to each notice what its operation's history and ended mutes say.
 */

import { incidentOf } from '../../../shared/alerts/incident-key.ts';
import { hasEnded } from '../deciding/incidents/operation-standing.ts';
import { type Message, type MessageLimits, planMessages } from '../deciding/messages/message-plan.ts';
import type { Notice } from '../deciding/notices/notice.ts';
import type { WaitingNotice } from '../deciding/notices/pending-notice.ts';
import { type Mutes, wasMuted } from '../deciding/policy/mute.ts';
import type { StoredIncidents } from './stored-incident.ts';

export interface PlannedMessage {
  readonly message: Message;
  /** These are the sort keys of its notices, in the order of the message. */
  readonly sks: readonly string[];
  readonly incidents: StoredIncidents;
  /** The message was planned at this time. */
  readonly at_ms: number;
}

export interface PlanTerms {
  readonly limits: MessageLimits;
  /** At most this many messages may start. */
  readonly slotCount: number;
  readonly incidents: StoredIncidents;
  readonly at_ms: number;
}

/** Returns the messages that these notices make, whether or not they are due. */
export function messagesOf(
  found: readonly WaitingNotice[],
  policy: Mutes,
  { limits, slotCount, incidents, at_ms }: PlanTerms,
): readonly PlannedMessage[] {
  const skOf = new Map(found.map((one) => [shown(one, policy, incidents), one.sk]));
  const byIncident = [...Map.groupBy(skOf.keys(), incidentOf).values()];
  return planMessages(byIncident, slotCount, limits).map((message) => ({
    message,
    sks: message.flat().flatMap((notice) => skOf.get(notice) ?? []),
    incidents,
    at_ms,
  }));
}

function shown({ notice, stored_at_ms }: WaitingNotice, policy: Mutes, incidents: StoredIncidents): Notice {
  const operations = incidents.get(incidentOf(notice))?.incident.operations ?? {};
  return {
    ...notice,
    ...(hasEnded(operations, notice) && { has_ended: true }),
    ...(wasMuted(notice, policy, stored_at_ms) && { was_muted: true }),
  };
}
