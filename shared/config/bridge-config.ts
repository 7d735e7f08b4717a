/** The one file that a team fills in, as a schema: whatever can have a default has one, and errors name the key. */

import * as z from 'zod';
import { REQUESTS_PER_MINUTE_MAX } from '../core/rates/account-rate.ts';
import { AppError } from '../runtime/errors.ts';
import { apiAccounts, extraRoutes } from './api-config.ts';
import {
  EMAILS_MAX,
  POLLED_PROJECTS_MAX,
  PROJECT_ID_CHARACTERS_MAX,
  SCHEDULE_NAME_CHARACTERS_MAX,
  SECRET_ARN_CHARACTERS_MAX,
  TAG_CHARACTERS_MAX,
  TAGS_MAX,
  URL_CHARACTERS_MAX,
} from './deployment-bounds.ts';
import { alertPolicySchema } from './notifier-config.ts';
import { pollAccountRequest } from './poller-config.ts';
import { deployedUpstreamBaseUrl } from './upstream-base-url.ts';

/** Complete, with its random suffix: a role gets exactly this secret and no other. */
const secretArn = z
  .string()
  .regex(/^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[\w/+=.@-]+-[A-Za-z0-9]{6}$/, {
    error: 'must be the complete ARN of a secret, with its six-character suffix',
  })
  .max(SECRET_ARN_CHARACTERS_MAX);

const address = z.url({ protocol: /^https$/ }).max(URL_CHARACTERS_MAX);

const { shape: poll } = pollAccountRequest;
const { shape: commands } = apiAccounts.element;

const account = z
  .strictObject({
    /** Short name that stands in keys, events and metrics. */
    account_id: poll.account_id,
    /** Ends with `/api/v2`. */
    upstream_base_url: deployedUpstreamBaseUrl.max(URL_CHARACTERS_MAX),
    /** Holds the upstream key of the poller. */
    key_secret_arn: secretArn,
    /** Holds the upstream key for commands; a key of its own can be withdrawn alone. Default: the poller's. */
    command_key_secret_arn: secretArn.optional(),
    /** Of the account's 700 requests a minute: the poller's part, beside what commands leave of theirs. */
    poller_requests_per_minute: poll.requests_per_minute,
    poll_interval_seconds: poll.poll_interval_seconds,
    linger_seconds: poll.linger_seconds,
    stalled_after_seconds: poll.stalled_after_seconds,
    backfill: poll.backfill,
    /** Poll only these: for a key that belongs to one project. */
    project_ids: z
      .array(z.string().min(1).max(PROJECT_ID_CHARACTERS_MAX))
      .min(1)
      .max(POLLED_PROJECTS_MAX)
      .optional(),
    /** The part of commands through the API, and what one caller gets of it. */
    command_requests_per_minute: commands.requests_per_minute,
    caller_requests_per_minute: commands.caller_requests_per_minute,
    settle_within_seconds: commands.settle_within_seconds,
    /** Long polls that one caller may have at once, and as many commands that wait for a lock. */
    caller_waits_max: commands.caller_waits_max,
  })
  .refine(
    ({ poller_requests_per_minute: a, command_requests_per_minute: b }) => a + b <= REQUESTS_PER_MINUTE_MAX,
    {
      path: ['command_requests_per_minute'],
      error: `together with poller_requests_per_minute it may be ${REQUESTS_PER_MINUTE_MAX} at most; leave some for the Console`,
    },
  );

/** The role of each function names every account and its secrets, and IAM has room for this many. */
export const ACCOUNTS_MAX = 30;

const settings = z.strictObject({
  /** Prefix of every resource's name. */
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{1,30}$/)
    .default('operations-bridge'),
  accounts: z
    .array(account)
    .min(1)
    .max(ACCOUNTS_MAX)
    .refine(
      (accounts) => accounts.flatMap(({ project_ids = [] }) => project_ids).length <= POLLED_PROJECTS_MAX,
      { error: `name ${POLLED_PROJECTS_MAX} projects at most, all accounts together` },
    )
    .refine((accounts) => new Set(accounts.map(({ account_id }) => account_id)).size === accounts.length, {
      error: 'each account_id may stand there once',
    }),
  alerts: z
    .strictObject({
      /** Each gets a mail to confirm. */
      emails: z.array(z.email()).max(EMAILS_MAX).default([]),
      slack_webhook_secret_arn: secretArn.optional(),
      /** Routing, mutes, windows; see docs/alerts.md. */
      policy: alertPolicySchema.default(alertPolicySchema.parse({})),
    })
    .default({ emails: [], policy: alertPolicySchema.parse({}) }),
  api: z.strictObject({
    /** A long random text; it keys the hashes of tokens. Changing it ends every token. */
    token_pepper_secret_arn: secretArn,
    oidc: z
      .strictObject({
        issuer: address,
        audience: z.string().min(1).max(URL_CHARACTERS_MAX),
        /** An audience that the issuer gives to access tokens alone; without it they need `typ: at+jwt` or `token_use: access`. */
        access_token_audience: z.string().min(1).max(URL_CHARACTERS_MAX).optional(),
        jwks_url: address.optional(),
        account_id: z.string(),
      })
      .optional(),
    extra_routes: extraRoutes.default([]),
    /** Of the front door, for all callers together. */
    requests_per_second: z.number().int().min(1).max(1_000).default(50),
  }),
  /**
   * Instances of a function that AWS keeps free for it, and the most that it runs. AWS leaves at least ten of an account's to all
   * functions without a reservation, and a new account has ten: there any reservation fails the deployment, so the default is none.
   */
  reserved_concurrency: z
    .strictObject({
      /** The most requests that are answered at once, long polls included. */
      api: z.number().int().min(5).max(1_000).optional(),
      /** One for each account of the upstream is enough. */
      poller: z.number().int().min(1).max(1_000).optional(),
    })
    .default({}),
  /** Where alarms and alerts send their reader. */
  runbook_url: z
    .url()
    .max(URL_CHARACTERS_MAX)
    .default('https://example.com/operations-bridge/docs/operations.md'),
  thresholds: z
    .strictObject({
      /** No project may be unread for longer. */
      walk_age_minutes: z.number().int().min(5).max(1_440).default(30),
      unpublished_age_minutes: z.number().int().min(1).max(60).default(5),
      /** Of the poller's requests, refused for their rate over a quarter of an hour. */
      throttled_percent: z.number().min(0.1).max(100).default(5),
    })
    .default({ walk_age_minutes: 30, unpublished_age_minutes: 5, throttled_percent: 5 }),
  log_retention_days: z.union([z.literal(7), z.literal(30), z.literal(90), z.literal(365)]).default(30),
  archive_days: z.number().int().min(1).max(365).default(30),
  tags: z
    .record(z.string().min(1).max(128), z.string().max(256))
    .refine((tags) => Object.keys(tags).length <= TAGS_MAX, { error: `takes ${TAGS_MAX} tags at most` })
    .refine((tags) => Object.entries(tags).flat().join('').length <= TAG_CHARACTERS_MAX, {
      error: `takes ${TAG_CHARACTERS_MAX} characters at most, keys and values of all tags together`,
    })
    .default({}),
});

export const bridgeConfigSchema = settings.superRefine(({ name, accounts }, context) => {
  const most = SCHEDULE_NAME_CHARACTERS_MAX - `${name}-poll-`.length;
  for (const [place, { account_id }] of accounts.entries()) {
    if (account_id.length <= most) continue;
    const path = ['accounts', place, 'account_id'];
    const message = `has ${most} characters at most beside the name ${name}: together they name a schedule`;
    context.addIssue({ code: 'custom', path, message });
  }
});

export type BridgeConfig = z.output<typeof bridgeConfigSchema>;
export type BridgeConfigInput = z.input<typeof bridgeConfigSchema>;

/** For the file itself: completion and types while it is written. */
export function defineBridge(config: BridgeConfigInput): BridgeConfigInput {
  return config;
}

/** Throws `AppError` `config_invalid`: one line per fault, with the key, what is allowed, and the type of what stands there. */
export function parseBridgeConfig(source: unknown, file: string): BridgeConfig {
  const parsed = bridgeConfigSchema.safeParse(source);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.flatMap((issue) => {
    const key = issue.path.join('.') || '(the whole file)';
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((name) => `  ${[...issue.path, name].join('.')}: there is no such setting`);
    return [`  ${key}: ${issue.message} (found ${foundAt(source, issue.path)})`];
  });
  throw new AppError('config_invalid', `${file} cannot be used:\n${faults.join('\n')}`);
}

/** Short values as they are, except where a secret may have been pasted by mistake. */
function foundAt(source: unknown, path: readonly PropertyKey[]): string {
  const value = path.reduce<unknown>(
    (part, name) => (part as Record<PropertyKey, unknown> | undefined)?.[name],
    source,
  );
  if (typeof value !== 'string') return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 60);
  const isAboutSecret = path.some((name) => String(name).includes('secret')) || /:\/\/[^/]*@/.test(value);
  return isAboutSecret ? `a text of ${value.length} characters` : JSON.stringify(value.slice(0, 60));
}
