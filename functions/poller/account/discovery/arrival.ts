/**
 * Decides, together with the other accounts of the bridge, what a project is that the list shows and that is not among the
 * account's own: new to the bridge, moved here, or shared with another account (PROTOCOL.md, "A project that moves").
 */

import {
  decideDiscovery,
  type ProjectRecord,
  type Sighting,
} from '../../../../shared/records/project-record.ts';
import { DAY_MS, MINUTE_MS, secondOf } from '../../../../shared/records/time.ts';
import { DECIDED_WITHIN_MS, decideArrival, decideTakenOver } from '../../../../shared/records/transfer.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import type { BridgeStore } from '../../../../shared/store/bridge-store.ts';
import type { BoundReports } from '../status/report-bound.ts';
import type { KnownProjects } from './known-projects.ts';

/** A new project is looked for in this many other accounts, which takes one call of the table. */
export const OTHER_ACCOUNTS_MAX = 100;

export interface ArrivalDeps {
  readonly store: BridgeStore;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly bounds: BoundReports;
  /** Returns the accounts that this bridge watches. This one is the only one when it is undefined. */
  readonly watchedAccountIds?: (() => readonly string[]) | undefined;
}

/**
 * Resolves to the next record of a project that the list shows: `waits` while another account has not said whether it still
 * has the project, and undefined when the record says that the project is visible.
 */
export async function nextOnSight(
  deps: ArrivalDeps,
  { awaited, unreadSinceMs }: KnownProjects,
  recorded: ProjectRecord | undefined,
  sighting: Sighting,
): Promise<ProjectRecord | 'waits' | undefined> {
  const first = decideDiscovery(recorded, sighting);
  if (first === undefined || !sighting.isNews) return first;
  const { store, clock, bounds, telemetry } = deps;
  const { project_id } = sighting;
  const { records: others, unreadCount } = await readOthers(deps, project_id);
  const nowMs = clock.now();
  const { fromMs } = awaited.get(project_id) ?? { fromMs: nowMs };
  awaited.set(project_id, { fromMs, lookedAtMs: nowMs, since: sighting.since });
  const arrival = decideArrival(store.accountId, others, { nowMs, waitedMs: nowMs - fromMs });
  const isDecided = arrival.kind !== 'ask' && arrival.kind !== 'wait';
  if (unreadCount > 0) {
    const unreadMs = nowMs - (unreadSinceMs.get(project_id) ?? nowMs);
    unreadSinceMs.set(project_id, nowMs - unreadMs);
    // A wish changes nothing, so the account whose record was read is asked meanwhile.
    if (isDecided && unreadMs < READABLE_WITHIN_MS) return 'waits';
  } else unreadSinceMs.delete(project_id);
  if (isDecided) for (const waiting of [awaited, unreadSinceMs]) waiting.delete(project_id);
  switch (arrival.kind) {
    case 'first_sight':
      return first;
    case 'ask':
      await store.wantProject(arrival.from);
      return 'waits';
    case 'wait':
      // A process of the other account that has begun since knows of the project only by this.
      await store.wishForReadingBy(arrival.from);
      return 'waits';
    case 'undecided':
      bounds.report('transfer_decided_within', DECIDED_WITHIN_MS);
      telemetry.log('warn', 'transfer.undecided', {
        project_id,
        detail: `No answer from ${others.map(({ account_id }) => account_id).join(', ')}`,
      });
      return first;
    case 'take':
      return takeOver(deps, recorded, arrival.from);
  }
}

/** After this time an account whose items the table is too busy to read no longer delays the new projects of the others. */
const READABLE_WITHIN_MS = MINUTE_MS;

async function readOthers(
  { store, bounds, telemetry, watchedAccountIds }: ArrivalDeps,
  projectId: string,
): Promise<{ readonly records: readonly ProjectRecord[]; readonly unreadCount: number }> {
  const ids = (watchedAccountIds?.() ?? []).filter((id) => id !== store.accountId);
  if (ids.length > OTHER_ACCOUNTS_MAX) bounds.report('other_accounts', OTHER_ACCOUNTS_MAX);
  if (ids.length === 0) return { records: [], unreadCount: 0 };
  const read = await store.readElsewhere(projectId, ids.slice(0, OTHER_ACCOUNTS_MAX));
  if (read.unreadCount > 0)
    telemetry.log('warn', 'transfer.not_read', { project_id: projectId, account_count: read.unreadCount });
  return read;
}

/** A lower bound is always true, and below this one is every operation that the other account has left open. */
const BELOW_ALL = secondOf(DAY_MS);

/** Without a bound, the first walk reads the whole list and compares each row with the record of the other account. */
async function takeOver(
  { store, clock }: ArrivalDeps,
  own: ProjectRecord | undefined,
  from: ProjectRecord,
): Promise<ProjectRecord | 'waits'> {
  const { accountId } = store;
  if (own?.bound !== undefined) {
    const lowered = { bound: BELOW_ALL, isLowered: true, resume: null } as const;
    if ((await store.saveProgress(own.project_id, lowered, own.bound)) !== 'recorded') return 'waits';
  }
  const since = own === undefined ? await store.readSince(from) : undefined;
  return decideTakenOver(own, { from, since, accountId }, clock.now());
}
