/** The accounts of the upstream that the API serves, with the share of each rate limit that commands get. */

import * as z from 'zod';
import { PARTS_PER_MINUTE } from '../core/rates/account-rate.ts';
import { upstreamBaseUrl } from './upstream-base-url.ts';

/** How many places one caller may hold at most. By default an AWS account runs 1,000 function invocations at once. */
export const HELD_PLACES_MAX = 20;

/** One account of the upstream that callers can use. */
export const apiAccount = z.strictObject({
  account_id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  /** Ends with `/api/v2`. */
  upstream_base_url: upstreamBaseUrl,
  /** Name or ARN of the secret with the upstream key for commands. */
  key_secret_id: z.string().min(1),
  /** The commands' share of the account's rate limit (700 a minute, specification "Limits"). */
  requests_per_minute: z.number().int().min(10).max(700).default(PARTS_PER_MINUTE.commands),
  /** What one caller gets of that share at most, so that no caller starves the others. */
  caller_requests_per_minute: z.number().int().min(2).max(700).default(125),
  /** Long polls that one caller may have at once, and as many commands that wait for a lock. */
  caller_waits_max: z.number().int().min(1).max(HELD_PLACES_MAX).default(5),
  /** The poller's interval: the API asks for a project to be read at most once in this time. */
  poll_interval_seconds: z.number().min(0.5).max(300).default(5),
  /** How long the operations of a command may take before an event names those that are missing. */
  settle_within_seconds: z.number().int().min(10).max(86_400).default(900),
});

export type ApiAccount = z.output<typeof apiAccount>;

export const apiAccounts = z.array(apiAccount).min(1).max(100);
