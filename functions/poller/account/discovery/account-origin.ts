/**
 * Fixes when the bridge first saw the account: what is older is history, and a project that is first seen later is
 * news.
 */

import type { RecordWriter } from '../../../../shared/protocol/record-operation.ts';
import { firstAccountRecord } from '../../../../shared/records/account-record.ts';
import { secondOf, type Timestamp } from '../../../../shared/records/time.ts';
import type { AccountOrigin as StoredOrigin } from '../../../../shared/store/parse-record.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { ListingResult } from '../../planner/listing.ts';
import type { Listings } from '../account-memory.ts';
import type { AccountReader } from '../status/publish-health.ts';
import { type KnownProjects, provesFirstListing } from './known-projects.ts';

/** Says what one invocation knows of the account's origin. */
export interface AccountOrigin {
  /** It is undefined when the account was never seen, or its item cannot be read. */
  bootAt: Timestamp | undefined;
  /** The account's item exists and does not say what is history, so projects that were never read have to wait. */
  isUnreadable: boolean;
}

interface OriginStore extends AccountReader, RecordWriter {
  /**
   * Resolves to undefined when the account has no item yet, and to `unreadable` when the item does not say what is
   * history.
   */
  readOrigin(): Promise<StoredOrigin | 'unreadable' | undefined>;
}

export interface OriginDeps {
  readonly store: OriginStore;
}

/**
 * Reads the origin at the beginning of an invocation. Another process may have read the first whole listing since this
 * environment last looked, and then a project that appears from now on is news to this process, too.
 */
export async function readOrigin({ store }: OriginDeps, listings: Listings): Promise<AccountOrigin> {
  const origin = await store.readOrigin();
  if (origin === 'unreadable') return { bootAt: undefined, isUnreadable: true };
  if (origin?.is_listed === true) listings.hasReadWholeList = true;
  return { bootAt: origin?.boot_at, isUnreadable: false };
}

/**
 * The first answer that the upstream ever gives fixes what counts as history, by the earlier of its clock and ours. Without a
 * readable origin it is unknown whether a project is news, so only recorded projects are polled.
 */
export async function bootAccount(
  { store }: OriginDeps,
  origin: AccountOrigin,
  listings: Listings,
  readAtMs: number,
): Promise<void> {
  const stored = (await store.readOrigin()) ?? (await createAccount(store, readAtMs));
  origin.isUnreadable = stored === 'unreadable';
  if (stored !== 'unreadable') listings.hasReadWholeList = stored.is_listed;
}

async function createAccount(store: OriginDeps['store'], readAtMs: number) {
  // Rows show whole seconds, and so does this time: an operation that was created in this very second is news.
  const first = firstAccountRecord(store.accountId, secondOf(readAtMs));
  await store.record(first, undefined);
  return (await store.readOrigin()) ?? first;
}

/** Says which listing has come to its end, and how many have, this one included. */
export interface EndedListing {
  readonly listings: Listings;
  readonly listing: ListingResult;
  readonly count: number;
}

/** From the first listing on, a project that appears is news, and operations older than the account are history. */
export async function recordFirstListing(
  { store }: OriginDeps,
  origin: AccountOrigin,
  { listings, listing, count }: EndedListing,
): Promise<void> {
  const stored = await store.readOrigin();
  if (stored === undefined || stored === 'unreadable') return;
  origin.bootAt = stored.boot_at;
  const account = await unlessUnreadable(store.readAccount());
  // Another process has come to the end of the list before this one.
  if (stored.is_listed || account?.is_listed === true) listings.hasReadWholeList = true;
  if (account === undefined || account.is_listed || !provesFirstListing(listing, count)) return;
  const result = await store.record({ ...account, is_listed: true }, account.revision);
  listings.hasReadWholeList = result === 'recorded';
}

export interface Discovery {
  readonly projects: KnownProjects;
  readonly listings: Listings;
  readonly origin: AccountOrigin;
  /** A page of the list is adding these projects at the moment, so no other page adds them, too. */
  readonly addedNow: Set<string>;
}
