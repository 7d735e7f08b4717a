/**
 * Defines what the poller gets from outside: its environment from the deployment, and the account from the schedule
 * that invokes it.
 */

import * as z from 'zod';
import { LIMIT_PER_MINUTE, REQUESTS_PER_MINUTE_MAX, SHARES_PER_MINUTE } from '../rates/account-rate.ts';
import { readConfig } from '../runtime/read-config.ts';
import { ACCOUNT_ID_PATTERN, accountRulesVariables, upstreamBaseUrl } from './account-rules.ts';

export const pollerEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  EVENT_BUS_NAME: z.string().min(1),
  ...accountRulesVariables,
  /** These flags of Node limit the heap of V8, which otherwise collects its garbage only when the memory is nearly used up. */
  NODE_OPTIONS: z.string().optional(),
  /** Powertools writes this `service` into log lines. */
  POWERTOOLS_SERVICE_NAME: z.string().default('poller'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type PollerEnvironment = z.infer<typeof pollerEnvironment>;

const usageSeconds = z.int().positive().optional();

/** What may be used in a billing period, in seconds (docs/events.md, "Project Usage Crossed"). */
const usageLimits = z.strictObject({
  active_time_seconds: usageSeconds,
  /** An active second of a compute of two units counts as two. */
  compute_time_seconds: usageSeconds,
});

/** Each limit is sent with each invocation, and what has many limits has them as quotas of the upstream. */
export const USAGE_LIMITS_MAX = 100;

const usageSettings = z.strictObject({
  /** An event is published once a period when so many percent of a limit were used. Without a threshold there are none. */
  thresholds_percent: z.array(z.int().min(1).max(1_000)).max(10).default([75, 90, 100]),
  /** All projects together may use this. */
  account_limits: usageLimits.default({}),
  /** Projects may use this, beside the quotas that the upstream keeps of them. */
  project_limits: z
    .record(z.string().min(1).max(63), usageLimits)
    .refine((limits) => Object.keys(limits).length <= USAGE_LIMITS_MAX, {
      error: `names ${USAGE_LIMITS_MAX} projects at most`,
    })
    .default({}),
  /** Keeps what each project used by day, for the console and `GET /bridge/v1/usage`: up to four writes a day and project. */
  keeps_history: z.boolean().default(false),
});

/**
 * Says how one account is polled. Each account has a limiter of its own, because the rate limit is per account
 * (specification "Limits": 700 a minute with bursts of 40 a second per route).
 */
export const pollAccountRequest = z.object({
  /** The id stands in keys, events and logs, so it is short and never a secret. */
  account_id: z.string().regex(ACCOUNT_ID_PATTERN),
  /** The address ends with `/api/v2`. */
  upstream_base_url: upstreamBaseUrl,
  /** The secret with the upstream key has this name or ARN. */
  key_secret_id: z.string().min(1),
  /** The poller may send this many requests a minute. A share of the limit stays for the Console. */
  requests_per_minute: z.int().min(10).max(REQUESTS_PER_MINUTE_MAX).default(SHARES_PER_MINUTE.poller),
  /** Commands may send this many requests a minute, and the poller uses what they leave. At 0, no commands are sent. */
  command_requests_per_minute: z
    .int()
    .min(0)
    .max(REQUESTS_PER_MINUTE_MAX)
    .default(SHARES_PER_MINUTE.commands),
  /** The service allows the account this many requests a minute. It raises the usual limit for large customers. */
  limit_requests_per_minute: z.int().min(10).max(REQUESTS_PER_MINUTE_MAX).default(LIMIT_PER_MINUTE),
  /**
   * Two polls of one project are at least this far apart. A quarter of it is the shortest time between two reads of
   * the project list. By default both follow the number of projects: two polls are five seconds apart up to ten of
   * them, which the specification suggests ("Operations", rule 3), and a quarter of a second from fifty on.
   * docs/performance.md has the seconds, and docs/cost.md the money.
   */
  poll_interval_seconds: z.number().min(0.5).max(300).optional(),
  /**
   * An invocation goes on for this long after everything was read and nothing is expected to happen soon. 60 is
   * fastest: the invocation lasts until the next one begins. 0 is cheapest: it ends at once, and the next minute
   * finds what began meanwhile. docs/performance.md has the seconds and the money.
   */
  linger_seconds: z.int().min(0).max(60).default(60),
  /**
   * An open operation is published as stalled when it passes a threshold. This fixes the thresholds of actions, in
   * seconds since the operation's creation, and `default` those of all other actions. An action without fixed
   * thresholds has one that comes from what it usually takes (docs/events.md, "Operation Stalled").
   */
  stalled_after_seconds: z
    .record(
      z.string(),
      z
        .array(z.int().positive())
        .min(1)
        .max(4)
        .refine(
          (seconds) => seconds.every((each, index) => index === 0 || each > (seconds[index - 1] ?? 0)),
          {
            error: 'must rise from one threshold to the next',
          },
        ),
    )
    .default({}),
  backfill: z.enum(['open', 'all', 'none']).default('open'),
  usage: usageSettings.default(() => usageSettings.parse({})),
  /** Only these projects are polled and no project list is read, for a key that belongs to one project. */
  project_ids: z.array(z.string()).min(1).optional(),
});

/**
 * The payload of an invocation names one lane, and the invocation polls all accounts of the lane side by side. The
 * accounts are those of the configuration that belong to this lane.
 */
export const pollLaneRequest = z.object({
  /** The lanes are numbered from 0. */
  lane: z.int().min(0),
  /** The bridge has this number of lanes. */
  lanes: z.int().min(1),
  /** Accounts that are not pinned are spread over the first lanes, of which there is this number. */
  shared_lanes: z.int().min(1),
  accounts: z.array(pollAccountRequest),
  /** The configured accounts of other lanes: a project may move between them and the accounts of this one. */
  other_account_ids: z.array(z.string()).default([]),
});

export type PollAccountRequest = z.input<typeof pollAccountRequest>;
export type PollAccountSettings = z.output<typeof pollAccountRequest>;
export type PollLaneRequest = z.input<typeof pollLaneRequest>;
export type PollLane = z.output<typeof pollLaneRequest>;

/**
 * Reads the payload of an invocation. A schedule of version 0.1 names one account instead of a lane. Such a schedule
 * may invoke this code for some minutes while a deployment replaces it.
 */
export function readPollRequest(event: unknown): PollLane {
  const subject = 'The invocation payload';
  if (!namesAccount(event)) return readConfig(pollLaneRequest, event, subject);
  const accounts = [readConfig(pollAccountRequest, event, subject)];
  return { lane: 0, lanes: 1, shared_lanes: 1, accounts, other_account_ids: [] };
}

function namesAccount(event: unknown): boolean {
  return typeof event === 'object' && event !== null && 'account_id' in event;
}

/**
 * One invocation begins every minute and may last slightly longer than a minute, so that there is hardly a moment
 * without a poller. The deployment and the local scheduler both take these values.
 */
export const pollerSchedule = { everyMs: 60_000, timeoutMs: 66_000 } as const;
