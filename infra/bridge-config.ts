/**
 * Defines the one file that a team fills in, as a schema: the bridge, its accounts, its alerts. Every setting that
 * can have a default has one, and the values are bounded so that what is made of them fits into AWS.
 */

import * as z from 'zod';
import { CHANNEL_KINDS, channelSettings, secretArnOf } from '../functions/notifier/channels/channels.ts';
import { alertPolicySchema } from '../functions/notifier/environment.ts';
import { SHARES_FAULT, sharesFit } from '../shared/accounts/account.ts';
import {
  deployedUpstreamBaseUrl,
  secretArn,
  UPSTREAM_HOSTS_MAX,
  upstreamHost,
} from '../shared/config/account-rules.ts';
import {
  apiAccount,
  deadLetterQueues,
  extraRoutes,
  openCalls,
  signInShape,
} from '../shared/config/api-config.ts';
import { pollAccountRequest } from '../shared/config/poller-config.ts';
import { AppError } from '../shared/runtime/errors.ts';
import { plainWords } from '../shared/runtime/read-config.ts';

/** Names of functions, rules and roles begin with it. A role's name has 64 characters, of which the region takes up to 18. */
export const NAME_CHARACTERS_MAX = 31;

/** Three addresses and two audiences stand in the 4,096 bytes of a function's environment, and one in each alarm's description. */
export const URL_CHARACTERS_MAX = 500;

/** AWS takes 50 tags on a resource. They are repeated on up to 350 resources, and the template has 1 MB for everything. */
export const TAGS_MAX = 20;

/** The keys and values of all tags together have this bound for the same reason. */
export const TAG_CHARACTERS_MAX = 800;

/** The projects of all accounts together stand in the payloads of the schedules, and so in the template. */
export const POLLED_PROJECTS_MAX = 1_500;

/** The upstream's own ids have some thirty characters. */
export const PROJECT_ID_CHARACTERS_MAX = 63;

/** Each lane has a function and a schedule in the template, which AWS limits to 500 resources. */
export const LANES_MAX = 60;

/** Each of these has a memory of its own, which a person has chosen. */
export const OWN_LANES_MAX = 20;

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
    /** This secret holds a key for commands, which can be withdrawn alone. By default commands use the poller's key. */
    command_key_secret_arn: secretArn.optional(),
    /** The service allows the account this many requests a minute: 700, unless it has raised the limit. */
    limit_requests_per_minute: poll.limit_requests_per_minute,
    /** The poller has this share of the limit. It also uses what commands leave of theirs. */
    poller_requests_per_minute: poll.requests_per_minute,
    poll_interval_seconds: poll.poll_interval_seconds,
    linger_seconds: poll.linger_seconds,
    stalled_after_seconds: poll.stalled_after_seconds,
    backfill: poll.backfill,
    /** Which shares of which budgets are told, and whether a history of the usage is kept. */
    usage: poll.usage,
    compute_unit_hour_price: commands.compute_unit_hour_price,
    /** Only these projects are polled. A key that belongs to one project needs this setting. */
    project_ids: z
      .array(z.string().min(1).max(PROJECT_ID_CHARACTERS_MAX))
      .min(1)
      .max(POLLED_PROJECTS_MAX)
      .optional(),
    /** Callers of the API have this share, and what the poller leaves of its own. */
    command_requests_per_minute: commands.requests_per_minute,
    /** Callers may send this many requests in a second. */
    command_requests_per_second: commands.requests_per_second,
    /** One caller gets no more than this. Without it a caller who is alone may use nearly everything, and several have equal parts. */
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

const accountsSettings = z
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

const alertFields = z.strictObject({
  ...channelSettings,
  /** The policy has routes, mutes and the time for which alerts are collected (docs/alerts.md). */
  policy: alertPolicySchema.prefault({}),
});

/** Refuses a route to a channel that is not set up, because its alerts would not reach people there. */
const alertSettings = alertFields.superRefine((alerts, context) => {
  for (const [place, { channels = [] }] of alerts.policy.routes.entries()) {
    for (const kind of CHANNEL_KINDS) {
      const position = channels.indexOf(kind.name);
      if (position < 0 || kind.secret === undefined || secretArnOf(kind, alerts) !== undefined) continue;
      context.addIssue({
        code: 'custom',
        path: ['policy', 'routes', place, 'channels', position],
        message: `is not set up: set alerts.${kind.secret.setting}, or take the channel out of the route`,
      });
    }
  }
});

/** They stand in the policy of a role, which has 10,240 characters for everything. */
export const STATE_MACHINES_MAX = 10;

/** The token of a task belongs to the region and the account of its state machine. A name has 80 characters. */
const stateMachineArn = z
  .string()
  .regex(
    /^arn:[\w-]{3,12}:states:[\w-]{3,20}:\d{12}:stateMachine:[\w-]{1,80}$/,
    'must be the ARN of a state machine',
  );

const address = z.url({ protocol: /^https$/ }).max(URL_CHARACTERS_MAX);

const laneMemoryMb = z.number().int().min(144).max(3_008);

const settings = z.strictObject({
  /** The name of every resource begins with it. */
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{1,30}$/)
    .default('operations-bridge'),
  accounts: accountsSettings,
  /** The accounts are spread over this number of lanes, each of which polls a hundred accounts of ten projects side by side. */
  lanes: z.number().int().min(1).max(LANES_MAX).default(1),
  /**
   * These lanes poll only the accounts that are pinned to them, such as one with many projects. They have the numbers
   * after those of the other lanes.
   */
  own_lanes: z
    .array(
      z.strictObject({
        /** By default the lane has the memory of `poller_memory_mb`. */
        memory_mb: laneMemoryMb.optional(),
      }),
    )
    .max(OWN_LANES_MAX)
    .default([]),
  /**
   * The keys of accounts that are added while the bridge runs may be sent to these hosts alone. By default these are
   * the hosts of the accounts above.
   */
  upstream_hosts: z.array(upstreamHost).min(1).max(UPSTREAM_HOSTS_MAX).optional(),
  alerts: alertSettings.prefault({}),
  api: z.strictObject({
    /**
     * This secret holds a random text of 32 characters or more that keys the hashes of tokens. The API refuses a shorter
     * one. Changing it ends every token.
     */
    token_pepper_secret_arn: secretArn,
    oidc: z
      .strictObject({
        issuer: address,
        audience: z.string().min(1).max(URL_CHARACTERS_MAX),
        /**
         * The issuer gives this audience to access tokens alone. Without it they need `typ: at+jwt` or `token_use:
         * access`.
         */
        access_token_audience: z.string().min(1).max(URL_CHARACTERS_MAX).optional(),
        jwks_url: address.optional(),
        account_id: z.string(),
      })
      .optional(),
    /** People sign in to the console at this OpenID provider. Without it they use a token. */
    sign_in: z
      .strictObject({
        ...signInShape,
        issuer: address,
        /** Browsers reach the console here, when that is not the address of API Gateway. */
        base_url: address.optional(),
        /** This secret holds the client's secret at the provider. A public client has none. */
        client_secret_arn: secretArn.optional(),
      })
      .optional(),
    extra_routes: extraRoutes.default([]),
    /** Opens calls that hand out or revoke API keys. Such a key has all rights of the account, and the bridge cannot limit it. */
    open_calls: openCalls.default([]),
    /**
     * The console and `doctor` show how many messages lie in these dead-letter queues of subscribers. An asterisk stands for any
     * text, as in `arn:aws:sqs:eu-central-1:123456789012:*-dead-letters`.
     */
    dead_letter_queue_arns: deadLetterQueues.default([]),
    /** The front door lets in this many requests a second, of all callers together. */
    requests_per_second: z.number().int().min(1).max(1_000).default(50),
  }),
  /** The bridge ends tasks of these state machines of Step Functions that wait for commands (`Bridge-Callback`). */
  callbacks: z
    .strictObject({ state_machine_arns: z.array(stateMachineArn).max(STATE_MACHINES_MAX).default([]) })
    .prefault({}),
  /**
   * AWS keeps this many instances free for a function, and runs no more. AWS leaves at least ten instances of an AWS
   * account to functions without a reservation. A new AWS account has only ten, so any reservation fails the
   * deployment there, and the default is none.
   */
  reserved_concurrency: z
    .strictObject({
      /** At most this many requests are answered at once, long polls included. */
      api: z.number().int().min(5).max(1_000).optional(),
      /** Each lane has a function of its own with this many instances; 1 is enough. */
      poller: z.number().int().min(1).max(1_000).optional(),
    })
    .default({}),
  /** Alarms and alerts link to this copy of docs/operations.md. Without it alarms name the file, and alerts have no such link. */
  runbook_url: z.url().max(URL_CHARACTERS_MAX).optional(),
  thresholds: z
    .strictObject({
      /** An alarm is raised when a project has not been read completely for this time. */
      walk_age_minutes: z.number().int().min(5).max(1_440).default(30),
      unpublished_age_minutes: z.number().int().min(1).max(60).default(5),
      /**
       * An alarm is raised when more than this percentage of an account's requests of a minute are refused for their rate,
       * for a quarter of an hour.
       */
      throttled_percent: z.number().min(0.1).max(100).default(5),
      /** The objective of the bridge: an event is published this soon after the upstream's own time. */
      published_within_seconds: z.number().int().min(5).max(3_600).default(60),
      /** An alarm is raised when a smaller percentage of the events of an hour was in time. */
      published_in_time_percent: z.number().min(1).max(100).default(90),
    })
    .prefault({}),
  /** A dashboard of CloudWatch costs three dollars a month. The console shows the same for nothing. */
  dashboard: z.boolean().default(false),
  /**
   * The poller's function has this memory. By default it has 144 MB, which hold an account of some
   * hundred projects. 160 MB hold one of a thousand, and 256 MB one of five thousand.
   * More memory means more processor time, too.
   */
  poller_memory_mb: laneMemoryMb.optional(),
  /**
   * A key of your own in KMS encrypts the table, the queues, the topics and the logs. It costs a dollar a month and three
   * cents for each ten thousand uses. By default AWS's own keys encrypt them, of which only the uses for the table are
   * billed: some cents a month.
   */
  customer_managed_key: z.boolean().default(false),
  log_retention_days: z.union([z.literal(7), z.literal(30), z.literal(90), z.literal(365)]).default(30),
  /**
   * EventBridge writes a log of the bus, without the events themselves, by which a test event is followed to each target. It costs
   * about a dollar for each million of events that a subscriber gets.
   */
  bus_log: z.boolean().default(false),
  archive_days: z.number().int().min(1).max(365).default(30),
  tags: z
    .record(z.string().min(1).max(128), z.string().max(256))
    .refine((tags) => Object.keys(tags).length <= TAGS_MAX, { error: `takes ${TAGS_MAX} tags at most` })
    .refine((tags) => Object.entries(tags).flat().join('').length <= TAG_CHARACTERS_MAX, {
      error: `takes ${TAG_CHARACTERS_MAX} characters at most, keys and values of all tags together`,
    })
    .default({}),
});

/** Is the whole file. `parseBridgeConfig` reads one by it. */
export const bridgeConfigSchema = settings.superRefine((config, context) => {
  const { accounts, api, lanes, own_lanes } = config;
  if (isPepperShared(config))
    context.addIssue({
      code: 'custom',
      path: ['api', 'token_pepper_secret_arn'],
      message:
        'must be a secret of its own, because who reads it can make tokens: another setting names it, too, or its name is that of an upstream key',
    });
  for (const part of ['sign_in', 'oidc'] as const) {
    const id = api[part]?.account_id;
    if (id !== undefined && !accounts.some(({ account_id }) => account_id === id))
      context.addIssue({
        code: 'custom',
        path: ['api', part, 'account_id'],
        message: 'names none of the accounts',
      });
  }
  for (const [place, { lane }] of accounts.entries())
    if (lane !== undefined && lane >= laneCountOf({ lanes, own_lanes }))
      context.addIssue({
        code: 'custom',
        path: ['accounts', place, 'lane'],
        message: `is the number of a lane, and the lanes have the numbers 0 to ${laneCountOf({ lanes, own_lanes }) - 1}`,
      });
});

/** The API alone may read the pepper. Other functions may read the other secrets, and all that hold upstream keys. */
function isPepperShared({ name, accounts, alerts, api }: z.output<typeof settings>): boolean {
  const pepper = api.token_pepper_secret_arn;
  const others: readonly unknown[] = [
    ...accounts.flatMap(({ key_secret_arn, command_key_secret_arn }) => [
      key_secret_arn,
      command_key_secret_arn,
    ]),
    ...Object.values(alerts),
    api.sign_in?.client_secret_arn,
  ];
  return others.includes(pepper) || pepper.includes(`:secret:${name}/upstream-keys/`);
}

/** Counts all lanes of a bridge. */
export function laneCountOf({ lanes, own_lanes }: Pick<BridgeConfig, 'lanes' | 'own_lanes'>): number {
  return lanes + own_lanes.length;
}

export type BridgeConfig = z.output<typeof bridgeConfigSchema>;
export type BridgeConfigInput = z.input<typeof bridgeConfigSchema>;

/** Gives the configuration file completion and types while it is written. */
export function defineBridge(config: BridgeConfigInput): BridgeConfigInput {
  return config;
}

/** Throws `AppError` `config_invalid` with one line per fault: the key, what is allowed, and what was found there. */
export function parseBridgeConfig(source: unknown, file: string): BridgeConfig {
  const parsed = bridgeConfigSchema.safeParse(source, { error: plainWords });
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.flatMap((issue) => {
    const key = issue.path.join('.') || '(the whole file)';
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((name) => `  ${[...issue.path, name].join('.')}: there is no such setting`);
    return [`  ${key}: ${issue.message} (found ${foundAt(source, issue.path)})`];
  });
  throw new AppError('config_invalid', `${file} cannot be used:\n${faults.join('\n')}`);
}

/** These stand in the example alone. AWS documents its examples with this account. */
const EXAMPLE_VALUE = /123456789012|(^|[/.@])example\.(com|org|net)\b/;

/**
 * Throws `AppError` `config_not_deployable` when the file still has values of the example, or when nobody would hear of
 * trouble. A deployment with either succeeds and does nothing.
 */
export function refuseIfUseless(source: unknown, { alerts }: BridgeConfig, file: string): void {
  const faults = exampleKeys(source, []).map((key) => `  ${key}: is a value of the example; put in your own`);
  const isSetUp = CHANNEL_KINDS.some((kind) => secretArnOf(kind, alerts) !== undefined);
  if (alerts.emails.length === 0 && !isSetUp)
    faults.push('  alerts: reach nobody; set alerts.emails, or the secret of a channel such as Slack');
  if (alerts.policy.routes.length === 0)
    faults.push(
      '  alerts.policy.routes: is empty, so no alert reaches anybody; leave it out, and all are sent',
    );
  if (faults.length > 0)
    throw new AppError('config_not_deployable', `${file} cannot be deployed:\n${faults.join('\n')}`);
}

function exampleKeys(part: unknown, path: readonly string[]): readonly string[] {
  if (typeof part === 'string') return EXAMPLE_VALUE.test(part) ? [path.join('.')] : [];
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => exampleKeys(value, [...path, name]));
}

/** Shows short values as they are, except where a secret may have been pasted by mistake. */
function foundAt(source: unknown, path: readonly PropertyKey[]): string {
  const value = path.reduce<unknown>(
    (part, name) => (part as Record<PropertyKey, unknown> | undefined)?.[name],
    source,
  );
  if (typeof value !== 'string') return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 60);
  const isAboutSecret = path.some((name) => String(name).includes('secret')) || /:\/\/[^/]*@/.test(value);
  return isAboutSecret ? `a text of ${value.length} characters` : JSON.stringify(value.slice(0, 60));
}

/**
 * Returns the configured hosts, or the addresses of the configured accounts when none are, of which the functions take
 * the hosts.
 */
export function upstreamHostsOf({
  upstream_hosts,
  accounts,
}: Pick<BridgeConfig, 'upstream_hosts' | 'accounts'>): readonly string[] {
  return [...new Set(upstream_hosts ?? accounts.map(({ upstream_base_url }) => upstream_base_url))];
}
