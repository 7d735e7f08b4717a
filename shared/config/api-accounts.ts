/** Defines the accounts of the upstream that the API serves, with the share of each rate limit that commands get. */

import * as z from 'zod';
import { REQUESTS_PER_MINUTE_MAX, SHARES_PER_MINUTE } from '../core/rates/account-rate.ts';
import { ACCOUNT_ID_PATTERN } from './account-id.ts';
import { upstreamBaseUrl } from './upstream-base-url.ts';

/** One caller may hold at most this many places. By default an AWS account runs 1,000 function invocations at once. */
export const HELD_PLACES_MAX = 20;

/** A caller does not expect a command to be sent more than a day after the request. */
export const DEADLINE_SECONDS_MAX = 86_400;

/** In the pattern, these names in braces stand for ids of an operation: `https://vendor.example/projects/{project_id}`. */
const PAGE_IDS = ['project_id', 'operation_id', 'branch_id', 'endpoint_id'] as const;

/** Other schemes could run a script in the browser of the person who follows the link. */
export const upstreamPagePattern = z
  .string()
  .max(300)
  .regex(/^https:\/\/[^\s"'<>]+$/, 'must be an https address')
  .refine(
    (pattern) =>
      [...pattern.matchAll(/\{([^}]*)\}?/g)].every(([, name]) => PAGE_IDS.some((id) => id === name)),
    { error: `may hold only ${PAGE_IDS.map((id) => `{${id}}`).join(', ')}` },
  );

/** Callers can use this account of the upstream. */
export const apiAccount = z.strictObject({
  account_id: z.string().regex(ACCOUNT_ID_PATTERN),
  /** The address ends with `/api/v2`. */
  upstream_base_url: upstreamBaseUrl,
  /** The console links to a page of the upstream's own console with this pattern (`upstreamPagePattern`). */
  upstream_page_url: upstreamPagePattern.optional(),
  /** The secret with the upstream key for commands has this name or ARN. */
  key_secret_id: z.string().min(1),
  /** Commands may send this many requests a minute of the account's rate limit (700 a minute, specification "Limits"). */
  requests_per_minute: z.int().min(10).max(REQUESTS_PER_MINUTE_MAX).default(SHARES_PER_MINUTE.commands),
  /** One caller gets at most this much of that share, so that no caller starves the others. */
  caller_requests_per_minute: z.int().min(2).max(REQUESTS_PER_MINUTE_MAX).default(125),
  /** One caller may have this many long polls at once, and as many commands that wait for a lock. */
  caller_waits_max: z.int().min(1).max(HELD_PLACES_MAX).default(5),
  /** A command in line may name a deadline this far ahead, in seconds, so that the line empties while nothing can be sent. */
  command_deadline_seconds_max: z.int().min(60).max(DEADLINE_SECONDS_MAX).default(DEADLINE_SECONDS_MAX),
  /** The API asks for a fresh reading of a project at most once in this time: the poller's interval, when it is set. */
  poll_interval_seconds: z.number().min(0.5).max(300).default(5),
  /** The operations of a command may take this long before an event names those that are missing. */
  settle_within_seconds: z.int().min(10).max(86_400).default(900),
});

export type ApiAccount = z.output<typeof apiAccount>;

/** At most this many instances of the API and of the worker send commands at once. The variable holds a whole number. */
export const sendingInstancesMax = z.coerce.number().int().min(1);

export const apiAccounts = z.array(apiAccount).min(1).max(100);
