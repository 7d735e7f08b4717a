/** What the poller is told: its environment by the deployment, the account by the schedule that invokes it. */

import * as z from 'zod';
import { PARTS_PER_MINUTE } from '../core/rates/account-rate.ts';
import { upstreamBaseUrl } from './upstream-base-url.ts';

export const pollerEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  EVENT_BUS_NAME: z.string().min(1),
  /** Powertools: the `service` of log lines and metrics. */
  POWERTOOLS_SERVICE_NAME: z.string().default('poller'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type PollerEnvironment = z.infer<typeof pollerEnvironment>;

/**
 * The payload of an invocation. The rate limit is per account (specification "Limits": 700 a minute with bursts of
 * 40 a second per route), so the account is the unit of polling.
 */
export const pollAccountRequest = z.object({
  /** Stands in keys, events and logs: short, and never a secret. */
  account_id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  /** Ends with `/api/v2`. */
  upstream_base_url: upstreamBaseUrl,
  /** Name or ARN of the secret that holds the upstream key. */
  key_secret_id: z.string().min(1),
  /** The poller's part of the account's rate limit; some stays for the Console. */
  requests_per_minute: z.number().int().min(10).max(700).default(PARTS_PER_MINUTE.poller),
  /** The part of commands; the poller uses what they leave of it. 0: none are sent. */
  command_requests_per_minute: z.number().int().min(0).max(690).default(PARTS_PER_MINUTE.commands),
  /**
   * Between two polls of one project, at least; a quarter of it between two readings of the project list. The specification
   * suggests five seconds ("Operations", rule 3); half a second finds transitions of a small account three times as soon.
   */
  poll_interval_seconds: z.number().min(0.5).max(300).default(5),
  /**
   * How long an invocation goes on after everything was read and nothing is expected to happen soon. 60 (fastest): until
   * the next one begins; 0 (cheapest): not at all, so that what begins is seen at the next minute. docs/performance.md has
   * the seconds and the money.
   */
  linger_seconds: z.number().int().min(0).max(60).default(60),
  /**
   * An open operation is told as stalled when it passes one of these, seconds since its creation; by action, `default`
   * for all others. The slowest operation seen in the public contract took five seconds.
   */
  stalled_after_seconds: z
    .record(
      z.string(),
      z
        .array(z.number().int().positive())
        .min(1)
        .max(4)
        .refine(
          (seconds) => seconds.every((each, index) => index === 0 || each > (seconds[index - 1] ?? 0)),
          {
            error: 'must rise from one threshold to the next',
          },
        ),
    )
    .default({ default: [15 * 60, 2 * 3_600] }),
  backfill: z.enum(['open', 'all', 'none']).default('open'),
  /** Poll just these and list no projects: for a key that belongs to one project. */
  project_ids: z.array(z.string()).min(1).optional(),
});

export type PollAccountRequest = z.input<typeof pollAccountRequest>;
export type PollAccountSettings = z.output<typeof pollAccountRequest>;

/**
 * One invocation a minute that lives almost until the next one, so that there is hardly a moment without a poller.
 * The deployment's schedule and time-out and the local scheduler are both set from here.
 */
export const pollerSchedule = { everyMs: 60_000, timeoutMs: 66_000 } as const;
