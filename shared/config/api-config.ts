/** The API's environment, which its deployment fills in, and the settings that are read from it. */

import * as z from 'zod';
import { readConfig } from '../runtime/read-config.ts';
import { type ApiAccount, apiAccounts } from './api-accounts.ts';
import { type ClosedCallId, openCalls } from './closed-calls.ts';
import { type ExtraRoute, extraRoutes } from './extra-routes.ts';

const alertChannels = z.array(z.string().min(1));

export const apiEnvironment = z.object({
  TABLE_NAME: z.string().min(3),
  EVENT_BUS_NAME: z.string().min(1),
  /** JSON of `apiAccounts`. */
  ACCOUNTS: z.string().min(2),
  /** Names of all kinds of alert channels, as JSON: pages and health show how each of them does. */
  ALERT_CHANNELS: z.string().min(2),
  /** Name or ARN of the secret that keys the hashes of tokens and Idempotency-Keys. */
  TOKEN_PEPPER_SECRET_ID: z.string().min(1),
  /** The FIFO queue that wakes the worker that sends queued commands. */
  COMMANDS_QUEUE_URL: z.url(),
  /** JSON of `extraRoutes`. */
  EXTRA_ROUTES: z.string().default('[]'),
  /** JSON of `openCalls`. */
  OPEN_CALLS: z.string().default('[]'),
  /** An OIDC issuer whose access tokens are accepted beside the bridge's own tokens. */
  OIDC_ISSUER: z.url().optional(),
  OIDC_AUDIENCE: z.string().min(1).optional(),
  /** An audience that the issuer gives to access tokens alone, so that they need no other mark. */
  OIDC_ACCESS_TOKEN_AUDIENCE: z.string().min(1).optional(),
  /** Where the issuer's keys are. Default: `<issuer>/.well-known/jwks.json`. */
  OIDC_JWKS_URL: z.url().optional(),
  /** The account that callers with such a token use. */
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
  /** Calls of keys that are closed without this setting. */
  readonly openCalls: readonly ClosedCallId[];
  /** Names of all kinds of alert channels. */
  readonly alertChannels: readonly string[];
  readonly oidc: OidcSettings | undefined;
}

/** Throws `AppError` `config_invalid`, which names every variable that is wrong. */
export function readApiSettings(environment: ApiEnvironment): ApiSettings {
  return {
    accounts: readConfig(apiAccounts, parseJson(environment.ACCOUNTS), 'ACCOUNTS'),
    extraRoutes: readConfig(extraRoutes, parseJson(environment.EXTRA_ROUTES), 'EXTRA_ROUTES'),
    openCalls: readConfig(openCalls, parseJson(environment.OPEN_CALLS), 'OPEN_CALLS'),
    alertChannels: readConfig(alertChannels, parseJson(environment.ALERT_CHANNELS), 'ALERT_CHANNELS'),
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

/** A text that is not JSON is undefined, which the schema then refuses under the variable's name. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
