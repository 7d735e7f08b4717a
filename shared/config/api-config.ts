/** What the API is told by its deployment. */

import * as z from 'zod';
import { SCOPES } from '../callers/scopes.ts';
import { PARTS_PER_MINUTE } from '../core/rates/account-rate.ts';
import { readConfig } from '../runtime/read-config.ts';
import { upstreamBaseUrl } from './upstream-base-url.ts';

/** The most places that one caller may hold: an AWS account runs 1,000 function invocations at once by default. */
export const HELD_PLACES_MAX = 20;

/** One account that callers may be let into. */
const apiAccount = z.strictObject({
  account_id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/),
  /** Ends with `/api/v2`. */
  upstream_base_url: upstreamBaseUrl,
  /** Name or ARN of the secret that holds the upstream key for commands. */
  key_secret_id: z.string().min(1),
  /** The commands' share of the account's rate limit (700 a minute, specification "Limits"). */
  requests_per_minute: z.number().int().min(10).max(700).default(PARTS_PER_MINUTE.commands),
  /** What one caller gets of it at most, so that nobody starves the others. */
  caller_requests_per_minute: z.number().int().min(2).max(700).default(125),
  /** Long polls that one caller may have at once, and as many commands that wait for a lock on their behalf. */
  caller_waits_max: z.number().int().min(1).max(HELD_PLACES_MAX).default(5),
  /** As of the poller: a project is asked to be read at most once in this time. */
  poll_interval_seconds: z.number().min(0.5).max(300).default(5),
  /** The operations of a command may take so long before an event names those that are missing. */
  settle_within_seconds: z.number().int().min(10).max(86_400).default(900),
});

/** A call that the specification does not show, opened by whoever runs the bridge. */
const extraRoute = z
  .strictObject({
    id: z.string().regex(/^[a-z][A-Za-z0-9]{2,60}$/),
    method: z.enum(['GET', 'POST', 'PATCH', 'DELETE']),
    /** Under `/api/v2`, like `/projects/{project_id}/endpoints/{endpoint_id}/start`. */
    path: z.string().regex(/^(\/([a-z][a-z0-9_]*|\{[a-z][a-z0-9_]*\})){1,8}$/),
    summary: z.string().min(3).max(100),
    scope: z.enum(SCOPES),
    /** Which query parameters may pass, as they are. */
    query: z
      .array(z.string().regex(/^[a-z][a-z0-9_]{0,40}$/))
      .max(20)
      .default([]),
    /** `json`: an object is passed on as it is. */
    body: z.enum(['none', 'json']).default('none'),
    /** The fields of the body that the call declares, like `branch.name`. A caller that is limited to projects may send no others. */
    body_fields: z
      .array(z.string().regex(/^[a-z][a-z0-9_]{0,40}(\.[a-z][a-z0-9_]{0,40}){0,3}$/))
      .max(40)
      .default([]),
    /** Whether the call stays within the project of its path. Otherwise it is closed to callers that are limited to projects. */
    stays_within_project: z.boolean().default(false),
    /** The answer may hold a secret: then it is not kept for a repetition under the same Idempotency-Key. */
    is_secret: z.boolean().default(false),
  })
  .refine(({ path, stays_within_project }) => !stays_within_project || path.includes('{project_id}'), {
    path: ['stays_within_project'],
    error: 'takes a path with {project_id}: a call without it is about the whole account',
  });

export type ApiAccount = z.output<typeof apiAccount>;
export type ExtraRoute = z.output<typeof extraRoute>;

export const apiAccounts = z.array(apiAccount).min(1).max(100);
export const extraRoutes = z.array(extraRoute).max(50);

export const apiEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  EVENT_BUS_NAME: z.string().min(1),
  /** JSON of `apiAccounts`. */
  ACCOUNTS: z.string().min(2),
  /** Name or ARN of the secret that keys the hashes of tokens and Idempotency-Keys. */
  TOKEN_PEPPER_SECRET_ID: z.string().min(1),
  /** JSON of `extraRoutes`. */
  EXTRA_ROUTES: z.string().default('[]'),
  /** An OIDC issuer whose access tokens are taken too. */
  OIDC_ISSUER: z.url().optional(),
  OIDC_AUDIENCE: z.string().min(1).optional(),
  /** An audience that the issuer gives to access tokens alone: then they need no other sign of being one. */
  OIDC_ACCESS_TOKEN_AUDIENCE: z.string().min(1).optional(),
  /** Where its keys are, when not at `<issuer>/.well-known/jwks.json`. */
  OIDC_JWKS_URL: z.url().optional(),
  /** The account of whoever comes with such a token. */
  OIDC_ACCOUNT_ID: z.string().min(1).optional(),
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
  readonly extraRoutes: readonly ExtraRoute[];
  readonly oidc: OidcSettings | undefined;
}

/** Throws `AppError` `config_invalid` with the names of what is wrong. */
export function readApiSettings(environment: ApiEnvironment): ApiSettings {
  return {
    accounts: readConfig(apiAccounts, parseJson(environment.ACCOUNTS), 'ACCOUNTS'),
    extraRoutes: readConfig(extraRoutes, parseJson(environment.EXTRA_ROUTES), 'EXTRA_ROUTES'),
    oidc: oidcSettings(environment),
  };
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

/** What is no JSON is left to the schema to refuse, under its name. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
