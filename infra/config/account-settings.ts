/** Defines one account of the upstream in a bridge's configuration. */

import * as z from 'zod';
import { SHARES_FAULT, sharesFit } from '../../shared/accounts/account-settings.ts';
import { apiAccount } from '../../shared/config/api-accounts.ts';
import { pollAccountRequest } from '../../shared/config/poller-config.ts';
import { secretArn } from '../../shared/config/secret-arn.ts';
import { deployedUpstreamBaseUrl } from '../../shared/config/upstream-base-url.ts';
import { POLLED_PROJECTS_MAX, PROJECT_ID_CHARACTERS_MAX, URL_CHARACTERS_MAX } from './deployment-bounds.ts';

const { shape: poll } = pollAccountRequest;
const { shape: commands } = apiAccount;

const accountSettings = z
  .strictObject({
    /** This short name stands in keys, events and logs. */
    account_id: poll.account_id,
    /** The address ends with `/api/v2`. */
    upstream_base_url: deployedUpstreamBaseUrl.max(URL_CHARACTERS_MAX),
    /** The console links to a page of the upstream's own console with this pattern. */
    upstream_page_url: commands.upstream_page_url,
    /** This secret holds the poller's upstream key. */
    key_secret_arn: secretArn,
    /**
     * This secret holds the upstream key for commands, which can then be withdrawn alone. By default commands use the
     * poller's key.
     */
    command_key_secret_arn: secretArn.optional(),
    /** The service allows the account this many requests a minute: 700, unless it has raised the limit. */
    limit_requests_per_minute: poll.limit_requests_per_minute,
    /** The poller has this share of the limit. It also uses what commands leave of theirs. */
    poller_requests_per_minute: poll.requests_per_minute,
    poll_interval_seconds: poll.poll_interval_seconds,
    linger_seconds: poll.linger_seconds,
    stalled_after_seconds: poll.stalled_after_seconds,
    backfill: poll.backfill,
    /** Only these projects are polled. A key that belongs to one project needs this setting. */
    project_ids: z
      .array(z.string().min(1).max(PROJECT_ID_CHARACTERS_MAX))
      .min(1)
      .max(POLLED_PROJECTS_MAX)
      .optional(),
    /** Commands through the API have this share. */
    command_requests_per_minute: commands.requests_per_minute,
    /** One caller gets at most this much of that share. */
    caller_requests_per_minute: commands.caller_requests_per_minute,
    settle_within_seconds: commands.settle_within_seconds,
    /** Pins the account to the lane of this number. By default its lane follows from its id. */
    lane: z.number().int().min(0).optional(),
    /** One caller may have this many long polls at once, and as many commands that wait for a lock. */
    caller_waits_max: commands.caller_waits_max,
    /** A command in line may name a deadline this far ahead: a day, unless this is less. */
    command_deadline_seconds_max: commands.command_deadline_seconds_max,
  })
  .refine(sharesFit, SHARES_FAULT);

/** The role of each function names every account and its secrets, and IAM has room for this many. */
export const ACCOUNTS_MAX = 30;

export const accountsSettings = z
  .array(accountSettings)
  .min(1)
  .max(ACCOUNTS_MAX)
  .refine(
    (accounts) => accounts.flatMap(({ project_ids = [] }) => project_ids).length <= POLLED_PROJECTS_MAX,
    { error: `name ${POLLED_PROJECTS_MAX} projects at most, all accounts together` },
  )
  .refine((accounts) => new Set(accounts.map(({ account_id }) => account_id)).size === accounts.length, {
    error: 'each account_id may stand there once',
  });
