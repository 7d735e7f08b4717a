/**
 * Decides how the operations of an incident stand by what was reported: whether the incident is over, and whether a
 * notice is stale.
 */

import {
  isOngoing,
  type Operations,
  type Standing,
} from '../../../../shared/alerts/incidents/incident-record.ts';
import type { Notice } from '../notices/notice.ts';

/**
 * At most this many operations are kept, so that an incident's item stays small: an operation takes about 100 bytes.
 * The oldest ends are forgotten first, then the oldest failures.
 */
const OPERATIONS_MAX = 300;

const STATES: Partial<Record<Notice['kind'], Standing['state']>> = {
  failed: 'failing',
  attempt_failed: 'failing',
  account_degraded: 'failing',
  channel_deaf: 'failing',
  stalled: 'stalled',
  stall_ended: 'recovered',
  given_up: 'given_up',
  vanished: 'given_up',
  recovered: 'recovered',
  cancelled: 'recovered',
  account_recovered: 'recovered',
  channel_back: 'recovered',
};

/** Returns whether the notice says that its operation, account or channel fails, takes too long, has recovered, or was given up. */
export function saysHowItStands({ kind }: Pick<Notice, 'kind'>): boolean {
  return STATES[kind] !== undefined;
}

export function noteOperations(operations: Operations, notices: readonly Notice[]): Operations {
  const next = new Map(Object.entries(operations));
  for (const notice of notices) {
    const state = STATES[notice.kind];
    const known = next.get(subjectOf(notice));
    if (state === undefined || (known !== undefined && isOlder(notice, known))) continue;
    const { sequence, observed_at } = notice;
    next.set(subjectOf(notice), { state, observed_at, ...(sequence !== undefined && { sequence }) });
  }
  return Object.fromEntries(kept([...next]));
}

/** Returns the standing of all operations together. One that fails or has stalled outweighs those that have ended. */
export function standingOf(operations: Operations): Standing['state'] | 'unknown' {
  const states = new Set(Object.values(operations).map(({ state }) => state));
  return (
    (['failing', 'stalled', 'given_up', 'recovered'] as const).find((state) => states.has(state)) ?? 'unknown'
  );
}

/** Returns whether the notice is a failure that came late, after the end of its operation was reported. */
export function hasEnded(operations: Operations, notice: Notice): boolean {
  const known = operations[subjectOf(notice)];
  if (known === undefined || isOngoing(known.state) || STATES[notice.kind] !== 'failing') return false;
  return isOlder(notice, known);
}

function subjectOf({ operation_id, channel, account_id }: Notice): string {
  return operation_id ?? channel ?? account_id;
}

function isOlder(notice: Notice, known: Standing): boolean {
  if (notice.sequence !== undefined && known.sequence !== undefined) return notice.sequence < known.sequence;
  return notice.observed_at < known.observed_at;
}

function kept(entries: readonly (readonly [string, Standing])[]): readonly (readonly [string, Standing])[] {
  if (entries.length <= OPERATIONS_MAX) return entries;
  const rank = ({ state }: Standing) => (isOngoing(state) ? 1 : 0);
  return entries
    .toSorted(([, a], [, b]) => rank(b) - rank(a) || (a.observed_at < b.observed_at ? 1 : -1))
    .slice(0, OPERATIONS_MAX);
}
