/**
 * Defines one account of the upstream: its settings, which the configuration and the table share, the lane that polls
 * it, what the table keeps of an account that was added while the bridge runs, and what the deployment allows of it.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { type AccountRules, upstreamBaseUrl } from '../config/account-rules.ts';
import { type ApiAccount, apiAccount } from '../config/api-config.ts';
import { type PollAccountSettings, pollAccountRequest } from '../config/poller-config.ts';
import type { Item } from '../store/table.ts';
import type { NoteUnreadable } from '../store/unreadable.ts';

const { shape: poll } = pollAccountRequest;
const { shape: commands } = apiAccount;

/** No deployment has more lanes than this, so a pinned lane has no higher number. */
export const LANES_MAX = 500;

/** Every process that serves accounts holds the settings of all of them, and a key that sees more is polled by its list. */
const POLLED_PROJECTS_MAX = 100;

/** The upstream has some twenty actions. */
const STALL_ACTIONS_MAX = 50;

const SECRET_ID_CHARACTERS_MAX = 512;

const URL_CHARACTERS_MAX = 500;

const secretIdSchema = z.string().min(1).max(SECRET_ID_CHARACTERS_MAX);

/** The configuration file has the same settings, except that it names secrets by their ARNs. */
export const accountShape = {
  /** This short name stands in keys, events and logs, and is never a secret. */
  account_id: poll.account_id,
  /** The address ends with `/api/v2`. */
  upstream_base_url: upstreamBaseUrl.max(URL_CHARACTERS_MAX),
  /** The console links to a page of the upstream's own console with this pattern. */
  upstream_page_url: commands.upstream_page_url,
  /** The secret with the upstream key has this name. It may hold the keys of many accounts (`keyIn`). */
  key_secret_id: secretIdSchema,
  /** The secret with the key for commands has this name. By default commands use the poller's key. */
  command_key_secret_id: secretIdSchema.optional(),
  /** The service allows the account this many requests a minute: 700, unless it has raised the limit. */
  limit_requests_per_minute: poll.limit_requests_per_minute,
  /** The poller has this share of the limit, in requests a minute. It also uses what commands leave of theirs. */
  poller_requests_per_minute: poll.requests_per_minute,
  /** Callers of the API have this share, in requests a minute, and what the poller leaves of its own. */
  command_requests_per_minute: commands.requests_per_minute,
  /** Callers may send this many requests in a second. */
  command_requests_per_second: commands.requests_per_second,
  /** One caller gets no more than this. Without it callers have equal parts. */
  caller_requests_per_minute: commands.caller_requests_per_minute,
  poll_interval_seconds: poll.poll_interval_seconds,
  linger_seconds: poll.linger_seconds,
  stalled_after_seconds: poll.stalled_after_seconds.refine(
    (thresholds) => Object.keys(thresholds).length <= STALL_ACTIONS_MAX,
    { error: `names ${STALL_ACTIONS_MAX} actions at most` },
  ),
  backfill: poll.backfill,
  usage: poll.usage,
  /** The upstream takes this price for an hour of one compute unit. Estimates rest on it. */
  compute_unit_hour_price: commands.compute_unit_hour_price,
  /** Only these projects are polled. A key that belongs to one project needs this setting. */
  project_ids: z.array(z.string().min(1).max(63)).min(1).max(POLLED_PROJECTS_MAX).optional(),
  settle_within_seconds: commands.settle_within_seconds,
  /** One caller may have this many long polls at once, and as many commands that wait for a lock. */
  caller_waits_max: commands.caller_waits_max,
  /** A command in line may name a deadline this far ahead. */
  command_deadline_seconds_max: commands.command_deadline_seconds_max,
} as const;

type Shares = Readonly<
  Record<'poller_requests_per_minute' | 'command_requests_per_minute' | 'limit_requests_per_minute', number>
>;

/** The shares of the poller and of commands must fit into the account's limit together. */
export function sharesFit(shares: Shares): boolean {
  const { poller_requests_per_minute: poller, command_requests_per_minute: command } = shares;
  return poller + command <= shares.limit_requests_per_minute;
}

export const SHARES_FAULT = {
  path: ['command_requests_per_minute'],
  error:
    'together with poller_requests_per_minute it may be limit_requests_per_minute at most; leave some for the Console',
};

export const accountSettings = z.strictObject(accountShape).refine(sharesFit, SHARES_FAULT);

export type AccountSettings = z.output<typeof accountSettings>;

/** Returns what the poller gets of an account. */
export function pollSettingsOf(account: AccountSettings): PollAccountSettings {
  const { poller_requests_per_minute: requests_per_minute, poll_interval_seconds, project_ids } = account;
  return {
    account_id: account.account_id,
    upstream_base_url: account.upstream_base_url,
    key_secret_id: account.key_secret_id,
    requests_per_minute,
    command_requests_per_minute: account.command_requests_per_minute,
    limit_requests_per_minute: account.limit_requests_per_minute,
    ...(poll_interval_seconds !== undefined && { poll_interval_seconds }),
    linger_seconds: account.linger_seconds,
    stalled_after_seconds: account.stalled_after_seconds,
    backfill: account.backfill,
    usage: account.usage,
    ...(project_ids && { project_ids }),
  };
}

/** Returns what the API and the worker get of an account. */
export function commandSettingsOf(account: AccountSettings): ApiAccount {
  return {
    account_id: account.account_id,
    upstream_base_url: account.upstream_base_url,
    ...(account.upstream_page_url && { upstream_page_url: account.upstream_page_url }),
    key_secret_id: account.command_key_secret_id ?? account.key_secret_id,
    requests_per_minute: account.command_requests_per_minute,
    requests_per_second: account.command_requests_per_second,
    caller_requests_per_minute: account.caller_requests_per_minute,
    poller_requests_per_minute: account.poller_requests_per_minute,
    limit_requests_per_minute: account.limit_requests_per_minute,
    settle_within_seconds: account.settle_within_seconds,
    caller_waits_max: account.caller_waits_max,
    command_deadline_seconds_max: account.command_deadline_seconds_max,
    poll_interval_seconds: commands.poll_interval_seconds.parse(account.poll_interval_seconds),
    ...(account.compute_unit_hour_price && { compute_unit_hour_price: account.compute_unit_hour_price }),
  };
}

export const lane = z
  .int()
  .min(0)
  .max(LANES_MAX - 1);

/** The upstream names its owners by short ids. */
export const OWNER_CHARACTERS_MAX = 200;

export const accountItem = z.object({
  account_id: accountShape.account_id,
  /** Each change raises it by one, and holds only if nobody else has changed the item meanwhile. */
  version: z.int().positive(),
  /**
   * The account is added for so many times under this id, removed accounts of the id included. What belongs to one life
   * of an account names its generation. It is absent in the first life.
   */
  generation: z.int().positive().optional(),
  /**
   * A paused account is not polled and sends no command. A removed one is not served, and its item stays, because the
   * next account of the id must not be taken for it.
   */
  state: z.enum(['active', 'paused', 'removed']),
  /** The upstream says that the key belongs to this owner. It is absent when the upstream has not said so. */
  owner: z.string().max(OWNER_CHARACTERS_MAX).optional(),
  /** The records of a removed account are being deleted, or are deleted, and then anybody may have the id. */
  purge: z.enum(['begun', 'done']).optional(),
  /** Each write has another one, by which a writer knows its own write. */
  change_id: z.string().optional(),
  /** The account has this state since then. Items of earlier versions do not say. ISO 8601. */
  state_since: z.string().optional(),
  /** It is absent in the item of a configured account, whose settings come with the deployment. */
  settings: accountSettings.optional(),
  /** The account is polled in this lane. It is absent when the lane follows from the account's id. */
  lane: lane.optional(),
  /** These four say when and by which caller the item was made and last changed; times are ISO 8601. */
  added_at: z.string(),
  added_by: z.string(),
  changed_at: z.string(),
  changed_by: z.string(),
});

export type AccountItem = z.output<typeof accountItem>;

export const ACCOUNT_ATTRIBUTES: readonly string[] = Object.keys(accountItem.shape);

/** Returns the generation of what was made before there were generations, too. */
export function generationOf(made: { readonly generation?: number | undefined } | undefined): number {
  return made?.generation ?? 1;
}

/** Returns the generation of the account that follows a removed one. */
export function nextGeneration(removed: AccountItem): number {
  return generationOf(removed) + 1;
}

/** Leaves out items that cannot be read, and notes them, so that each hides only its own account. */
export function readableAccounts(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly AccountItem[] {
  return items.flatMap((item) => {
    const { data, error } = accountItem.safeParse(item);
    if (data !== undefined) return data;
    const fields = error.issues.map(({ path }) => path.join('.'));
    noteUnreadable({ key: { pk: item.pk, sk: item.sk }, fields });
    return [];
  });
}

export interface AccountFault {
  readonly field: 'upstream_base_url' | 'key_secret_id' | 'command_key_secret_id';
  readonly reason: string;
}

type Guarded = Pick<AccountSettings, 'upstream_base_url' | 'key_secret_id' | 'command_key_secret_id'>;

/** Returns everything that speaks against the account, and an empty list when nothing does. */
export function accountFaults(account: Guarded, rules: AccountRules): readonly AccountFault[] {
  const faults: AccountFault[] = [];
  const hostFault = upstreamFault(account.upstream_base_url, rules.upstreamHosts);
  if (hostFault !== undefined) faults.push({ field: 'upstream_base_url', reason: hostFault });
  for (const field of ['key_secret_id', 'command_key_secret_id'] as const) {
    const secretId = account[field];
    if (secretId === undefined || isKeySecret(secretId, rules.keySecretPrefix)) continue;
    const reason = `must be the name of a secret that begins with ${rules.keySecretPrefix}, where nothing but upstream keys is kept`;
    faults.push({ field, reason });
  }
  return faults;
}

/** Returns what is wrong with the address, or undefined when the key may be sent there. */
function upstreamFault(text: string, hosts: readonly string[]): string | undefined {
  const parsed = upstreamBaseUrl.safeParse(text);
  if (!parsed.success) return parsed.error.issues[0]?.message ?? 'must be an address';
  const url = new URL(text);
  // A text that the parser would rewrite, such as another spelling of a host, is not what a person has read.
  if (!isPlain(text, url)) return `must be written plainly, as ${url.protocol}//${url.host}/api/v2`;
  if (hosts.includes(url.host)) return undefined;
  return `must have one of the hosts that the deployment allows (upstream_hosts): ${hosts.join(', ')}`;
}

function isPlain(text: string, { protocol, host, pathname }: URL): boolean {
  return `${protocol}//${host}${pathname}` === text && /^[\w./-]*$/.test(pathname);
}

/** A name has no wildcard and no way up, and an ARN does not begin with the prefix. */
function isKeySecret(secretId: string, prefix: string): boolean {
  return secretId.startsWith(prefix) && /^[\w/+=.@-]{1,200}$/.test(secretId.slice(prefix.length));
}

/** A part of an account's settings: the lane is given when a person has pinned the account to it. */
export interface LaneChoice {
  readonly account_id: string;
  readonly lane?: number | undefined;
}

/**
 * Returns a number from 0 to `laneCount` - 1. A pin to a lane that does not exist is ignored. Pinned accounts may have
 * lanes of their own: ids are spread over the first `sharedLaneCount` lanes only, which are all by default.
 */
export function laneOf(
  { account_id, lane: pinned }: LaneChoice,
  laneCount: number,
  sharedLaneCount: number = laneCount,
): number {
  if (pinned !== undefined && pinned < laneCount) return pinned;
  return jumpHash(numberOf(account_id), Math.max(1, Math.min(sharedLaneCount, laneCount)));
}

/** Returns the first 64 bits of the id's SHA-256. */
function numberOf(accountId: string): bigint {
  return createHash('sha256').update(accountId).digest().readBigUInt64BE(0);
}

const BITS_64 = 2n ** 64n - 1n;

/**
 * Spreads keys evenly over the buckets. One bucket more takes over its own share of keys, and no key moves between the
 * others (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014).
 */
function jumpHash(key: bigint, bucketCount: number): number {
  let state = key;
  let bucket = 0;
  for (let next = 0; next < bucketCount; ) {
    bucket = next;
    state = (state * 2862933555777941757n + 1n) & BITS_64;
    // The upper 31 bits are the random number of this step.
    next = Math.floor((bucket + 1) * (2 ** 31 / (Number(state >> 33n) + 1)));
  }
  return bucket;
}
