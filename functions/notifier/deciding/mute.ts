/** Decides whether a mute keeps a notice back, and until when. */

import type { AlertPolicy } from './alert-policy.ts';
import type { Notice } from './notice.ts';
import { covers } from './project-list.ts';

type Mutes = Pick<AlertPolicy, 'mutes'>;
type Mutable = Pick<Notice, 'kind' | 'project_id'>;

/**
 * Returns when the last mute that covers the project now ends, and 0 when none does. A notice about a channel is
 * never muted.
 */
export function mutedUntilMs({ kind, project_id }: Mutable, { mutes }: Mutes, nowMs: number): number {
  if (kind === 'channel_deaf' || kind === 'channel_back') return 0;
  const ends = mutes
    .filter(({ project_ids, from }) => covers(project_ids, project_id) && Date.parse(from) <= nowMs)
    .map(({ until }) => Date.parse(until))
    .filter((untilMs) => untilMs > nowMs);
  return Math.max(0, ...ends);
}

/** Returns whether a mute covered the notice when it was stored. */
export function wasMuted(notice: Mutable, policy: Mutes, storedAtMs: number): boolean {
  return mutedUntilMs(notice, policy, storedAtMs) > 0;
}
