/**
 * Defines the settings of one account of the upstream, for the table's items and for the configuration file, and
 * derives from them what the poller and the senders of commands get.
 */

import * as z from 'zod';
import { type ApiAccount, apiAccount } from '../config/api-accounts.ts';
import { type PollAccountSettings, pollAccountRequest } from '../config/poller-config.ts';
import { upstreamBaseUrl } from '../config/upstream-base-url.ts';

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

const secretId = z.string().min(1).max(SECRET_ID_CHARACTERS_MAX);

/** The configuration file has the same settings, except that it names secrets by their ARNs. */
export const accountShape = {
  /** This short name stands in keys, events and logs, and is never a secret. */
  account_id: poll.account_id,
  /** The address ends with `/api/v2`. */
  upstream_base_url: upstreamBaseUrl.max(URL_CHARACTERS_MAX),
  /** The console links to a page of the upstream's own console with this pattern. */
  upstream_page_url: commands.upstream_page_url,
  /** The secret with the upstream key has this name. It may hold the keys of many accounts (`keyIn`). */
  key_secret_id: secretId,
  /** The secret with the key for commands has this name. By default commands use the poller's key. */
  command_key_secret_id: secretId.optional(),
  /** The service allows the account this many requests a minute: 700, unless it has raised the limit. */
  limit_requests_per_minute: poll.limit_requests_per_minute,
  /** The poller has this share of the limit, in requests a minute. It also uses what commands leave of theirs. */
  poller_requests_per_minute: poll.requests_per_minute,
  /** Commands through the API have this share, in requests a minute. */
  command_requests_per_minute: commands.requests_per_minute,
  /** One caller gets at most this much of that share, in requests a minute. */
  caller_requests_per_minute: commands.caller_requests_per_minute,
  poll_interval_seconds: poll.poll_interval_seconds,
  linger_seconds: poll.linger_seconds,
  stalled_after_seconds: poll.stalled_after_seconds.refine(
    (thresholds) => Object.keys(thresholds).length <= STALL_ACTIONS_MAX,
    { error: `names ${STALL_ACTIONS_MAX} actions at most` },
  ),
  backfill: poll.backfill,
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
    caller_requests_per_minute: account.caller_requests_per_minute,
    settle_within_seconds: account.settle_within_seconds,
    caller_waits_max: account.caller_waits_max,
    command_deadline_seconds_max: account.command_deadline_seconds_max,
    poll_interval_seconds: commands.poll_interval_seconds.parse(account.poll_interval_seconds),
  };
}
