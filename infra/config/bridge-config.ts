/**
 * Defines the one file that a team fills in, as a schema. Every setting that can have a default has one, and errors
 * name the key.
 */

import * as z from 'zod';
import { UPSTREAM_HOSTS_MAX, upstreamHost } from '../../shared/config/account-rules.ts';
import { openCalls } from '../../shared/config/closed-calls.ts';
import { extraRoutes } from '../../shared/config/extra-routes.ts';
import { secretArn } from '../../shared/config/secret-arn.ts';
import { signInShape } from '../../shared/config/sign-in-settings.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { plainWords } from '../../shared/runtime/plain-words.ts';
import { accountsSettings } from './account-settings.ts';
import { alertSettings } from './alert-settings.ts';
import {
  LANES_MAX,
  OWN_LANES_MAX,
  TAG_CHARACTERS_MAX,
  TAGS_MAX,
  URL_CHARACTERS_MAX,
} from './deployment-bounds.ts';

const address = z.url({ protocol: /^https$/ }).max(URL_CHARACTERS_MAX);

const laneMemoryMb = z.number().int().min(144).max(3_008);

const settings = z.strictObject({
  /** The name of every resource begins with it. */
  name: z
    .string()
    .regex(/^[a-z][a-z0-9-]{1,30}$/)
    .default('operations-bridge'),
  accounts: accountsSettings,
  /**
   * The accounts are spread over this number of lanes. A lane polls its accounts side by side, in one invocation a
   * minute. One lane is enough for a hundred accounts of ten projects; `doctor` says when more are needed.
   */
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
    /** The front door lets in this many requests a second, of all callers together. */
    requests_per_second: z.number().int().min(1).max(1_000).default(50),
  }),
  /**
   * AWS keeps this many instances free for a function, and runs no more. AWS leaves at least ten instances of an AWS
   * account to functions without a reservation. A new AWS account has only ten, so any reservation fails the
   * deployment there, and the default is none.
   */
  reserved_concurrency: z
    .strictObject({
      /** At most this many requests are answered at once, long polls included. */
      api: z.number().int().min(5).max(1_000).optional(),
      /** One for each lane is enough. */
      poller: z.number().int().min(1).max(1_000).optional(),
    })
    .default({}),
  /** Alarms and alerts send their reader to this page. */
  runbook_url: z
    .url()
    .max(URL_CHARACTERS_MAX)
    .default('https://example.com/operations-bridge/docs/operations.md'),
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
    .default({
      walk_age_minutes: 30,
      unpublished_age_minutes: 5,
      throttled_percent: 5,
      published_within_seconds: 60,
      published_in_time_percent: 90,
    }),
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
   * cents for each ten thousand uses. By default AWS's own keys encrypt them, for nothing.
   */
  customer_managed_key: z.boolean().default(false),
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

const bridgeConfigSchema = settings.superRefine((config, context) => {
  const { accounts, api, lanes, own_lanes } = config;
  if (isPepperShared(config))
    context.addIssue({
      code: 'custom',
      path: ['api', 'token_pepper_secret_arn'],
      message:
        'must be a secret of its own, because who reads it can make tokens: another setting names it, too, or its name is that of an upstream key',
    });
  const signInAccount = api.sign_in?.account_id;
  if (signInAccount !== undefined && !accounts.some(({ account_id }) => account_id === signInAccount))
    context.addIssue({
      code: 'custom',
      path: ['api', 'sign_in', 'account_id'],
      message: 'names none of the accounts',
    });
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
