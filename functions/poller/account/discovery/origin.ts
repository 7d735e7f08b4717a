/**
 * Fixes when the bridge first saw the account: what is older is history, and a project that is first seen later is
 * news. Together with the other accounts of the bridge it decides what a project is that the list shows and that is not
 * among the account's own.
 */

import { firstAccountRecord } from '../../../../shared/records/account-record.ts';
import {
  decideDiscovery,
  type ProjectRecord,
  type Sighting,
} from '../../../../shared/records/project-record.ts';
import { DAY_MS, MINUTE_MS, secondOf, type Timestamp } from '../../../../shared/records/time.ts';
import { DECIDED_WITHIN_MS, decideArrival, decideTakenOver } from '../../../../shared/records/transfer.ts';
import type { BridgeStore } from '../../../../shared/store/bridge-store.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { Listing } from '../../planner/list-hints.ts';
import type { InvocationDeps } from '../account-deps.ts';
import type { Listings } from '../account-memory.ts';
import { type KnownProjects, provesFirstListing } from './known-projects.ts';

/** Says what one invocation knows of the account's origin. */
export interface AccountOrigin {
  /** It is undefined when the account was never seen, or its item cannot be read. */
  bootAt: Timestamp | undefined;
  /** The account's item exists and does not say what is history, so projects that were never read have to wait. */
  isUnreadable: boolean;
  /** The invocation began at this time, and its first request may have to wait for a permit. What ends meanwhile is no history. */
  readonly fromMs: number;
}

/**
 * Reads the origin at the beginning of an invocation. Another process may have read the first whole listing since this
 * environment last looked, and then a project that appears from now on is news to this process, too.
 */
export async function readOrigin(deps: InvocationDeps, listings: Listings): Promise<AccountOrigin> {
  const origin = { bootAt: undefined, isUnreadable: false, fromMs: deps.clock.now() };
  await readOriginAgain(deps, origin, listings);
  return origin;
}

/** The account may have been recorded meanwhile: by another process, or by a write of this one whose reply was lost. */
export async function readOriginAgain(
  { store }: InvocationDeps,
  origin: AccountOrigin,
  listings: Listings,
): Promise<void> {
  const stored = await store.readOrigin();
  origin.isUnreadable = stored === 'unreadable';
  if (stored === undefined || stored === 'unreadable') return;
  origin.bootAt = stored.boot_at;
  if (stored.is_listed) listings.hasReadWholeList = true;
}

/**
 * The first answer that the upstream ever gives fixes what counts as history, by the earlier of its clock and ours. Without a
 * readable origin it is unknown whether a project is news, so only recorded projects are polled.
 */
export async function bootAccount(
  { store }: InvocationDeps,
  origin: AccountOrigin,
  listings: Listings,
  readAtMs: number,
): Promise<void> {
  const stored =
    (await store.readOrigin()) ?? (await createAccount(store, Math.min(readAtMs, origin.fromMs)));
  origin.isUnreadable = stored === 'unreadable';
  if (stored === 'unreadable') return;
  origin.bootAt = stored.boot_at;
  listings.hasReadWholeList = stored.is_listed;
}

async function createAccount(store: BridgeStore, readAtMs: number) {
  // Rows show whole seconds, and so does this time: an operation that was created in this very second is news.
  const first = firstAccountRecord(store.accountId, secondOf(readAtMs));
  await store.record(first, undefined);
  return (await store.readOrigin()) ?? first;
}

/** From the first listing on, a project that appears is news, and operations older than the account are history. */
export async function recordFirstListing(
  { store }: InvocationDeps,
  listings: Listings,
  listing: Listing,
): Promise<void> {
  if (listings.hasReadWholeList) return;
  const account = await unlessUnreadable(store.readAccount());
  // Another process may have come to the end of the list before this one.
  if (account?.is_listed === true) listings.hasReadWholeList = true;
  else if (account !== undefined && provesFirstListing(listing, listings.count))
    listings.hasReadWholeList = (await store.noteListed()) === 'applied';
}

export interface Discovery {
  readonly projects: KnownProjects;
  readonly listings: Listings;
  readonly origin: AccountOrigin;
  /** A page of the list is adding these projects at the moment, so no other page adds them, too. */
  readonly addedNow: Set<string>;
}

/** A new project is looked for in this many other accounts, which takes one call of the table. */
export const OTHER_ACCOUNTS_MAX = 100;

/**
 * Resolves to the next record of a project that the list shows: `waits` while another account has not said whether it still
 * has the project, and undefined when the record says that the project is visible.
 */
export async function nextOnSight(
  deps: InvocationDeps,
  { awaited }: KnownProjects,
  recorded: ProjectRecord | undefined,
  sighting: Sighting,
): Promise<ProjectRecord | 'waits' | undefined> {
  const first = decideDiscovery(recorded, sighting);
  if (first === undefined || !sighting.isNews) return first;
  const { store, clock, bounds, telemetry } = deps;
  const { project_id } = sighting;
  const { records: others, unreadCount } = await readOthers(deps, project_id);
  const nowMs = clock.now();
  const { fromMs, lookedAtMs } = awaited.get(project_id) ?? { fromMs: nowMs, lookedAtMs: nowMs };
  const readAtMs = unreadCount === 0 ? nowMs : lookedAtMs;
  awaited.set(project_id, { fromMs, lookedAtMs: readAtMs, since: sighting.since });
  const arrival = decideArrival(store.accountId, recorded, others, { nowMs, waitedMs: nowMs - fromMs });
  const isDecided = arrival.kind !== 'ask' && arrival.kind !== 'wait';
  // A wish changes nothing, so the account whose record was read is asked meanwhile.
  if (isDecided && unreadCount > 0 && nowMs - readAtMs < READABLE_WITHIN_MS) return 'waits';
  if (isDecided) awaited.delete(project_id);
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

/** From this time on an account whose items the table is too busy to read no longer delays the new projects of the others. */
const READABLE_WITHIN_MS = MINUTE_MS;

async function readOthers(
  { store, bounds, telemetry, watchedAccountIds }: InvocationDeps,
  projectId: string,
): Promise<{ readonly records: readonly ProjectRecord[]; readonly unreadCount: number }> {
  const ids = watchedAccountIds().filter((id) => id !== store.accountId);
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
  { store, clock }: InvocationDeps,
  own: ProjectRecord | undefined,
  from: ProjectRecord,
): Promise<ProjectRecord | 'waits'> {
  const { accountId } = store;
  if (own?.bound !== undefined) {
    const lowered = { bound: BELOW_ALL, isLowered: true, resume: null } as const;
    if ((await store.saveProgress(own.project_id, lowered, own.bound)) !== 'recorded') return 'waits';
  }
  const since = own === undefined ? await store.readSince(from) : undefined;
  const taken = decideTakenOver(own, { from, since, accountId }, clock.now());
  return (await store.takeProject(from, taken.came_from.number)) ? taken : 'waits';
}
