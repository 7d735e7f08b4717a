/**
 * Defines the API's environment, which its deployment fills in: the accounts that the API serves with the share of each
 * rate limit that commands get, calls that a configuration opens one by one, and the sign-in of people.
 */

import * as z from 'zod';
import { type ProjectLabel, projectLabel } from '../alerts/project-labels.ts';
import { SCOPES, scopesNamed } from '../callers/scopes.ts';
import {
  COMMANDS_PER_SECOND,
  LIMIT_PER_MINUTE,
  REQUESTS_PER_MINUTE_MAX,
  SHARES_PER_MINUTE,
} from '../rates/account-rate.ts';
import { parseJson } from '../runtime/foreign-text.ts';
import { readConfig } from '../runtime/read-config.ts';
import { type ClosedCallId, publicCalls } from '../upstream/calls/calls.ts';
import {
  ACCOUNT_ID_PATTERN,
  type AccountRules,
  accountRulesVariables,
  readAccountRules,
  upstreamBaseUrl,
} from './account-rules.ts';

/** The roles stand in a file beside the code, and a page that shows why a person has no role stays readable. */
export const ROLES_MAX = 50;

/** A session finds its role again with each page, and the projects of a role are compared with those of every page. */
export const ROLE_PROJECTS_MAX = 200;

const TEXT_CHARACTERS_MAX = 200;

const text = z.string().min(1).max(TEXT_CHARACTERS_MAX);

const scopeName = z.string().refine((name) => scopesNamed(name) !== undefined, {
  error: 'is no scope, no bundle and no wildcard of docs/api.md',
});

/** A person has the role when the claim has this value, or contains it. */
const signInRole = z.strictObject({
  value: text,
  /** These are names of scopes, bundles such as `operator`, or wildcards such as `computes:*`. */
  scopes: z.array(scopeName).min(1).max(100),
  /** Without this list the role is good for every project of the account. */
  project_ids: z.array(z.string().min(1).max(63)).min(1).max(ROLE_PROJECTS_MAX).optional(),
});

/**
 * The configuration file and the function share these settings. They differ in how they name the secret, and in the
 * addresses that they accept.
 */
export const signInShape = {
  client_id: text,
  /** The person's commands use this account. */
  account_id: z.string().min(1).max(63),
  /** The ID token has the person's roles in this claim: a text or a list of texts. */
  roles_claim: text.default('groups'),
  /** The first role of this list that a person has is the one that counts. */
  roles: z.array(signInRole).min(1).max(ROLES_MAX),
  /** The provider is asked for these scopes of OpenID Connect. Some providers put the groups into the ID token only for `groups`. */
  request_scope: z
    .string()
    .max(TEXT_CHARACTERS_MAX)
    .regex(/(^| )openid( |$)/, { error: 'must contain openid' })
    .default('openid email'),
  /** The default is `client_secret_basic`, as in OpenID Connect Core, section 9. It matters only with a secret. */
  client_authentication: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
} as const;

export const signInSettings = z.strictObject({
  ...signInShape,
  issuer: z.url().refine(isSafeAddress, { error: 'must begin with https://, except on this machine' }),
  /** Browsers reach the console here, when it is not the address that the request names. */
  base_url: z
    .url()
    .refine(isSafeAddress, { error: 'must begin with https://, except on this machine' })
    .optional(),
  /** The secret with the client's secret has this name or ARN. A public client has none. */
  client_secret_id: z.string().min(1).optional(),
});

export type SignInSettings = z.output<typeof signInSettings>;

/** Codes and tokens travel to these addresses, so plain http is accepted on the loopback interface alone. */
function isSafeAddress(address: string): boolean {
  const url = URL.parse(address);
  if (url?.protocol === 'http:') return /^(127\.0\.0\.1|\[::1\]|localhost)$/.test(url.hostname);
  return url?.protocol === 'https:';
}

const CLOSED_CALLS = Object.entries(publicCalls)
  .filter(([, { isClosed }]) => isClosed)
  .map(([id]) => id as ClosedCallId);

export const openCalls = z.array(z.enum(CLOSED_CALLS)).max(CLOSED_CALLS.length);

/** The specification does not show this call, and the configuration opens it. */
const extraRoute = z
  .strictObject({
    id: z.string().regex(/^[a-z][A-Za-z0-9]{2,60}$/),
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
    /** The path is below `/api/v2`, like `/projects/{project_id}/endpoints/{endpoint_id}/start`. */
    path: z.string().regex(/^(\/([a-z][a-z0-9_]*|\{[a-z][a-z0-9_]*\})){1,8}$/),
    summary: z.string().min(3).max(100),
    scope: z.enum(SCOPES),
    /** These query parameters are passed on as they are. */
    query: z
      .array(z.string().regex(/^[a-z][a-z0-9_]{0,40}$/))
      .max(20)
      .default([]),
    /** `json` says that the body is a JSON object, which is passed on as it is. */
    body: z.enum(['none', 'json']).default('none'),
    /**
     * The call declares these fields of the body, like `branch.name`. A caller that is limited to projects may send
     * no others.
     */
    body_fields: z
      .array(z.string().regex(/^[a-z][a-z0-9_]{0,40}(\.[a-z][a-z0-9_]{0,40}){0,3}$/))
      .max(40)
      .default([]),
    /**
     * It is true when the call stays within the project of its path. Otherwise it is closed to callers that are
     * limited to projects.
     */
    stays_within_project: z.boolean().default(false),
    /** The answer may hold a secret, so that it is not kept for a repetition under the same Idempotency-Key. */
    is_secret: z.boolean().default(false),
  })
  .refine(({ path, stays_within_project }) => !stays_within_project || path.includes('{project_id}'), {
    path: ['stays_within_project'],
    error: 'takes a path with {project_id}: a call without it is about the whole account',
  });

export type ExtraRoute = z.output<typeof extraRoute>;

export const extraRoutes = z.array(extraRoute).max(50);

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
  /**
   * Callers may send this many requests a minute of the account's rate limit (700 a minute, specification "Limits"), and
   * what the poller leaves of its share.
   */
  requests_per_minute: z.int().min(10).max(REQUESTS_PER_MINUTE_MAX).default(SHARES_PER_MINUTE.commands),
  /** Callers may send this many requests in a second: the 40 of the service for a route, less what the poller may need of them. */
  requests_per_second: z.int().min(1).max(REQUESTS_PER_MINUTE_MAX).default(COMMANDS_PER_SECOND),
  /** One caller gets no more than this. Without it a caller who is alone may use nearly everything, and several have equal parts. */
  caller_requests_per_minute: z.int().min(2).max(REQUESTS_PER_MINUTE_MAX).optional(),
  /** The poller has this share of the account's limit. */
  poller_requests_per_minute: z.int().min(10).max(REQUESTS_PER_MINUTE_MAX).default(SHARES_PER_MINUTE.poller),
  limit_requests_per_minute: z.int().min(10).max(REQUESTS_PER_MINUTE_MAX).default(LIMIT_PER_MINUTE),
  /** One caller may have this many long polls at once, and as many commands that wait for a lock. */
  caller_waits_max: z.int().min(1).max(HELD_PLACES_MAX).default(5),
  /** A command in line may name a deadline this far ahead, in seconds, so that the line empties while nothing can be sent. */
  command_deadline_seconds_max: z.int().min(60).max(DEADLINE_SECONDS_MAX).default(DEADLINE_SECONDS_MAX),
  /** The API asks for a fresh reading of a project at most once in this time: the poller's interval, when it is set. */
  poll_interval_seconds: z.number().min(0.5).max(300).default(5),
  /** The operations of a command may take this long before an event names those that are missing. */
  settle_within_seconds: z.int().min(10).max(86_400).default(900),
  /** The upstream takes this price for an hour of one compute unit. Estimates rest on it, in the currency of its bill. */
  compute_unit_hour_price: z.number().positive().max(1_000).optional(),
});

export type ApiAccount = z.output<typeof apiAccount>;

/** At most this many instances of the API and of the worker send commands at once. The variable holds a whole number. */
export const sendingInstancesMax = z.coerce.number().int().min(1);

export const apiAccounts = z.array(apiAccount).min(1).max(100);

const alertChannels = z.array(z.string().min(1));

/** Subscribers that name their queues alike need one pattern together. */
const DEAD_LETTER_QUEUES_MAX = 20;

/** A queue, or all queues whose ARN has any text where the pattern has an asterisk. */
export const deadLetterQueues = z
  .array(
    z
      .string()
      .regex(/^arn:[\w-]+:sqs:[\w*-]+:[\d*]+:[\w*.-]+$/, 'must be the ARN of a queue')
      .max(200),
  )
  .max(DEAD_LETTER_QUEUES_MAX);

/** Building a schema costs a cold start some hundredths of a millisecond, so variables of one form share theirs. */
const filled = z.string().min(1);
const optionalText = filled.optional();
const optionalAddress = z.url().optional();
const jsonList = z.string().default('[]');

/** An option of the configuration that the functions must know of. */
export const optionSwitch = z.enum(['on', 'off']).default('off');

export const apiEnvironment = z.object({
  TABLE_NAME: filled,
  EVENT_BUS_NAME: filled,
  /** This is the JSON of `apiAccounts`. */
  ACCOUNTS: filled,
  SENDING_INSTANCES_MAX: sendingInstancesMax,
  ...accountRulesVariables,
  /** This JSON names all kinds of alert channels. Pages and health show how each of them does. */
  ALERT_CHANNELS: filled,
  /** This JSON has `deadLetterQueues`, whose lengths the API may read. */
  DEAD_LETTER_QUEUES: jsonList,
  /** The secret that keys the hashes of tokens and Idempotency-Keys has this name or ARN. */
  TOKEN_PEPPER_SECRET_ID: filled,
  /** The secret that keys the seals of queued requests and their answers has this name or ARN. */
  QUEUE_KEY_SECRET_ID: filled,
  /** This FIFO queue wakes the worker that sends queued commands. */
  COMMANDS_QUEUE_URL: z.url(),
  /** This is the JSON of `extraRoutes`. */
  EXTRA_ROUTES: jsonList,
  /** The secret of the Slack channel has this name or ARN. Without it no button on Slack is served. */
  SLACK_SECRET_ID: optionalText,
  PAGERDUTY_SECRET_ID: optionalText,
  /** This is the JSON of `openCalls`. */
  OPEN_CALLS: jsonList,
  /** It is on when the configuration names state machines whose tasks the bridge may end. */
  CALLBACKS: optionSwitch,
  /** It is on when EventBridge writes a log of the bus. */
  BUS_LOG: optionSwitch,
  /** The access tokens of this OIDC issuer are accepted beside the bridge's own tokens. */
  OIDC_ISSUER: optionalAddress,
  OIDC_AUDIENCE: optionalText,
  /** The issuer gives this audience to access tokens alone, so that they need no other mark. */
  OIDC_ACCESS_TOKEN_AUDIENCE: optionalText,
  /** The issuer's keys are at this address. The default is `<issuer>/.well-known/jwks.json`. */
  OIDC_JWKS_URL: optionalAddress,
  /** Callers with such a token use this account. */
  OIDC_ACCOUNT_ID: optionalText,
  /** This is the JSON of `signInSettings`. Without it people sign in to the console with a token. */
  SIGN_IN: z.string().optional(),
  /** This is the JSON of the labels of the alert policy. */
  PROJECT_LABELS: z.string().default('{}'),
  POWERTOOLS_SERVICE_NAME: z.string().default('api'),
  LOG_LEVEL: z.string().default('INFO'),
});

export type ApiEnvironment = z.infer<typeof apiEnvironment>;

export interface OidcSettings {
  readonly issuer: string;
  readonly audience: string;
  readonly accessTokenAudience?: string | undefined;
  readonly jwksUrl: string;
  readonly account_id: string;
}

export interface ApiSettings {
  readonly accounts: readonly ApiAccount[];
  /** These hold for the accounts that are added while the bridge runs. */
  readonly rules: AccountRules;
  readonly extraRoutes: readonly ExtraRoute[];
  /** These calls of keys are closed without this setting. */
  readonly openCalls: readonly ClosedCallId[];
  /** The bridge may end tasks of Step Functions. */
  readonly takesCallbacks: boolean;
  /** EventBridge writes a log of the bus, which the API may read. */
  readonly hasBusLog: boolean;
  /** These are the names of all kinds of alert channels. */
  readonly alertChannels: readonly string[];
  /** The API may read the lengths of these queues. */
  readonly deadLetterQueues: readonly string[];
  readonly oidc: OidcSettings | undefined;
  /** It is undefined when people sign in to the console with a token alone. */
  readonly signIn?: SignInSettings | undefined;
  /** The labels of the alert policy: a search finds projects by them, and the console puts `production` first. */
  readonly labels: Readonly<Record<string, ProjectLabel>>;
}

/** Throws `AppError` `config_invalid`, which names every variable that is wrong. */
export function readApiSettings(environment: ApiEnvironment): ApiSettings {
  return {
    accounts: readConfig(apiAccounts, parseJson(environment.ACCOUNTS), 'ACCOUNTS'),
    rules: readAccountRules(environment),
    extraRoutes: readList(extraRoutes, environment.EXTRA_ROUTES, 'EXTRA_ROUTES'),
    openCalls: readList(openCalls, environment.OPEN_CALLS, 'OPEN_CALLS'),
    takesCallbacks: environment.CALLBACKS === 'on',
    hasBusLog: environment.BUS_LOG === 'on',
    alertChannels: readConfig(alertChannels, parseJson(environment.ALERT_CHANNELS), 'ALERT_CHANNELS'),
    deadLetterQueues: readList(deadLetterQueues, environment.DEAD_LETTER_QUEUES, 'DEAD_LETTER_QUEUES'),
    oidc: oidcSettings(environment),
    signIn:
      environment.SIGN_IN === undefined
        ? undefined
        : readConfig(signInSettings, parseJson(environment.SIGN_IN), 'SIGN_IN'),
    labels:
      environment.PROJECT_LABELS === '{}'
        ? {}
        : readConfig(
            z.record(z.string(), projectLabel),
            parseJson(environment.PROJECT_LABELS),
            'PROJECT_LABELS',
          ),
  };
}

/** Most deployments have neither extra routes nor open calls, and a start without them does not build their schema. */
function readList<T>(schema: z.ZodType<readonly T[]>, json: string, variable: string): readonly T[] {
  return json === '[]' ? [] : readConfig(schema, parseJson(json), variable);
}

function oidcSettings(environment: ApiEnvironment): OidcSettings | undefined {
  if (environment.OIDC_ISSUER === undefined) return undefined;
  const complete = z.object({ OIDC_ISSUER: z.url(), OIDC_AUDIENCE: z.string(), OIDC_ACCOUNT_ID: z.string() });
  const { OIDC_ISSUER, OIDC_AUDIENCE, OIDC_ACCOUNT_ID } = readConfig(
    complete,
    environment,
    'The environment',
  );
  return {
    issuer: OIDC_ISSUER,
    audience: OIDC_AUDIENCE,
    accessTokenAudience: environment.OIDC_ACCESS_TOKEN_AUDIENCE,
    jwksUrl: environment.OIDC_JWKS_URL ?? `${OIDC_ISSUER.replace(/\/$/, '')}/.well-known/jwks.json`,
    account_id: OIDC_ACCOUNT_ID,
  };
}
