/**
 * Holds the smallest configuration that is accepted and the largest ones, in which every bounded setting is at its
 * bound.
 */

import { EMAILS_MAX } from '../../functions/notifier/channels/email.ts';
import {
  ACCOUNTS_MAX,
  type BridgeConfigInput,
  LANES_MAX,
  NAME_CHARACTERS_MAX,
  OWN_LANES_MAX,
  POLLED_PROJECTS_MAX,
  PROJECT_ID_CHARACTERS_MAX,
  TAG_CHARACTERS_MAX,
  TAGS_MAX,
  URL_CHARACTERS_MAX,
} from '../../infra/bridge-config.ts';
import { SCOPES } from '../../shared/callers/scopes.ts';
import { SECRET_ARN_CHARACTERS_MAX } from '../../shared/config/account-rules.ts';
import { ROLE_PROJECTS_MAX, ROLES_MAX } from '../../shared/config/api-config.ts';
import { ACCOUNT, REGION } from './symbols.ts';

type Config = Partial<BridgeConfigInput>;

export const smallest = {
  name: 'ab',
  accounts: [{ account_id: 'a', upstream_base_url: 'https://a.b/api/v2', key_secret_arn: secretArn('k', 0) }],
  alerts: { emails: [] },
  api: { token_pepper_secret_arn: secretArn('p', 0) },
  tags: {},
} satisfies Config;

export const largest: Readonly<Record<string, Config>> = {
  'the longest name': large('n'.repeat(NAME_CHARACTERS_MAX)),
};

function large(name: string): Config {
  const idCharacters = 63;
  return {
    name,
    dashboard: true,
    accounts: Array.from({ length: ACCOUNTS_MAX }, (_, place) => ({
      account_id: `${place}`.padEnd(idCharacters, 'a'),
      upstream_base_url: `${urlOf(URL_CHARACTERS_MAX - 7)}/api/v2`,
      key_secret_arn: secretArn(`key-${place}`),
      command_key_secret_arn: secretArn(`command-${place}`),
      project_ids: Array.from({ length: Math.floor(POLLED_PROJECTS_MAX / ACCOUNTS_MAX) }, (__, project) =>
        `a-project-${project}`.padEnd(PROJECT_ID_CHARACTERS_MAX, 'p'),
      ),
      poller_requests_per_minute: 349,
      command_requests_per_minute: 251,
      caller_requests_per_minute: 124,
    })),
    alerts: {
      emails: Array.from({ length: EMAILS_MAX }, (_, place) => `${`${place}`.padEnd(60, 'e')}@example.com`),
      slack_webhook_secret_arn: secretArn('slack'),
      pagerduty_secret_arn: secretArn('pagerduty'),
      webhook_secret_arn: secretArn('webhook'),
      policy: {
        routes: Array.from({ length: 50 }, (_, place) => ({
          project_ids: [`a-project-of-an-account-${place}`],
          channels: ['slack', 'email', 'pagerduty', 'webhook'],
        })),
      },
    },
    api: {
      token_pepper_secret_arn: secretArn('pepper'),
      oidc: {
        issuer: urlOf(URL_CHARACTERS_MAX),
        audience: 'a'.repeat(URL_CHARACTERS_MAX),
        access_token_audience: 'b'.repeat(URL_CHARACTERS_MAX),
        jwks_url: urlOf(URL_CHARACTERS_MAX),
        account_id: '0'.padEnd(idCharacters, 'a'),
      },
      sign_in: {
        issuer: urlOf(URL_CHARACTERS_MAX),
        base_url: urlOf(URL_CHARACTERS_MAX),
        client_id: 'c'.repeat(200),
        client_secret_arn: secretArn('sign-in'),
        account_id: '0'.padEnd(idCharacters, 'a'),
        roles_claim: 'r'.repeat(200),
        roles: Array.from({ length: ROLES_MAX }, (_, place) => ({
          value: `${place}`.padEnd(200, 'v'),
          scopes: [...SCOPES],
          project_ids: Array.from({ length: ROLE_PROJECTS_MAX }, (__, project) =>
            `${project}`.padEnd(PROJECT_ID_CHARACTERS_MAX, 'p'),
          ),
        })),
      },
      extra_routes: Array.from({ length: 50 }, (_, place) => ({
        id: `furtherCallOfTheUpstream${place}`,
        method: 'POST' as const,
        path: `/projects/{project_id}/further_${place}`,
        summary: 's'.repeat(100),
        scope: 'computes:write' as const,
        body: 'json' as const,
        body_fields: Array.from({ length: 40 }, (__, field) => `field_${field}`.padEnd(40, 'x')),
      })),
    },
    lanes: LANES_MAX,
    own_lanes: Array.from({ length: OWN_LANES_MAX }, () => ({ memory_mb: 3_008 })),
    reserved_concurrency: { api: 1_000, poller: 1_000 },
    runbook_url: urlOf(URL_CHARACTERS_MAX),
    tags: Object.fromEntries(
      Array.from({ length: TAGS_MAX }, (_, place) => [
        `${place}`.padEnd(20, 'k'),
        'v'.repeat(TAG_CHARACTERS_MAX / TAGS_MAX - 20),
      ]),
    ),
  };
}

function urlOf(characters: number): string {
  return 'https://host.example/'.padEnd(characters, 'u');
}

function secretArn(name: string, characters = SECRET_ARN_CHARACTERS_MAX): string {
  const start = `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:${name}`;
  return `${start.padEnd(characters - '-AbCdEf'.length, 's')}-AbCdEf`;
}
