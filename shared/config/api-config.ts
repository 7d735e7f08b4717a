/** Defines the API's environment, which its deployment fills in, and reads the settings from it. */

import * as z from 'zod';
import { readConfig } from '../runtime/read-config.ts';
import { type AccountRules, accountRulesVariables, readAccountRules } from './account-rules.ts';
import { type ApiAccount, apiAccounts, sendingInstancesMax } from './api-accounts.ts';
import { type ClosedCallId, openCalls } from './closed-calls.ts';
import { type ExtraRoute, extraRoutes } from './extra-routes.ts';
import { type SignInSettings, signInSettings } from './sign-in-settings.ts';

const alertChannels = z.array(z.string().min(1));

/** Building a schema costs a cold start some hundredths of a millisecond, so variables of one form share theirs. */
const filled = z.string().min(1);
const optionalText = filled.optional();
const optionalAddress = z.url().optional();
const jsonList = z.string().default('[]');

export const apiEnvironment = z.object({
  TABLE_NAME: filled,
  EVENT_BUS_NAME: filled,
  /** This is the JSON of `apiAccounts`. */
  ACCOUNTS: filled,
  SENDING_INSTANCES_MAX: sendingInstancesMax,
  ...accountRulesVariables,
  /** This JSON names all kinds of alert channels. Pages and health show how each of them does. */
  ALERT_CHANNELS: filled,
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
  /** This is the JSON of `openCalls`. */
  OPEN_CALLS: jsonList,
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
  /** These are the names of all kinds of alert channels. */
  readonly alertChannels: readonly string[];
  readonly oidc: OidcSettings | undefined;
  /** It is undefined when people sign in to the console with a token alone. */
  readonly signIn?: SignInSettings | undefined;
}

/** Throws `AppError` `config_invalid`, which names every variable that is wrong. */
export function readApiSettings(environment: ApiEnvironment): ApiSettings {
  return {
    accounts: readConfig(apiAccounts, parseJson(environment.ACCOUNTS), 'ACCOUNTS'),
    rules: readAccountRules(environment),
    extraRoutes: readList(extraRoutes, environment.EXTRA_ROUTES, 'EXTRA_ROUTES'),
    openCalls: readList(openCalls, environment.OPEN_CALLS, 'OPEN_CALLS'),
    alertChannels: readConfig(alertChannels, parseJson(environment.ALERT_CHANNELS), 'ALERT_CHANNELS'),
    oidc: oidcSettings(environment),
    signIn:
      environment.SIGN_IN === undefined
        ? undefined
        : readConfig(signInSettings, parseJson(environment.SIGN_IN), 'SIGN_IN'),
  };
}

/** Most deployments have neither extra routes nor open calls, and a start without them does not build their schema. */
function readList<T>(schema: z.ZodType<readonly T[]>, text: string, variable: string): readonly T[] {
  return text === '[]' ? [] : readConfig(schema, parseJson(text), variable);
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

/** Returns undefined for a text that is not JSON, which the schema then refuses under the variable's name. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
