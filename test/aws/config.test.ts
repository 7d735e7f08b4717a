/** Tests the one configuration file: what can be left out, and what it answers to mistakes. */

import { describe, expect, test } from 'vitest';
import example from '../../bridge.config.example.ts';
import { parseBridgeConfig } from '../../infra/bridge-config.ts';

const arn = (name: string) => `arn:aws:secretsmanager:eu-central-1:123456789012:secret:${name}-AbCdEf`;
const account = { account_id: 'main', upstream_base_url: 'https://host/api/v2', key_secret_arn: arn('key') };
const least = { accounts: [account], api: { token_pepper_secret_arn: arn('pepper') } };

const signIn = {
  issuer: 'https://login.example.com',
  client_id: 'operations-bridge',
  account_id: 'main',
  roles: [{ value: 'on-call', scopes: ['admin'] }],
};

const problemWith = (source: unknown) => {
  try {
    parseBridgeConfig(source, 'bridge.config.ts');
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
};

describe('the configuration', () => {
  test('needs only an account and two secrets; every other setting has a default', () => {
    expect(parseBridgeConfig(least, 'f')).toMatchObject({
      name: 'operations-bridge',
      accounts: [
        {
          poller_requests_per_minute: 350,
          command_requests_per_minute: 250,
          linger_seconds: 60,
          backfill: 'open',
        },
      ],
      alerts: { emails: [], policy: { window_seconds: 300 } },
      thresholds: { walk_age_minutes: 30 },
      log_retention_days: 30,
    });
  });

  test('asks the provider for the claim groups and proves its secret in the header, if nothing else is said', () => {
    expect(parseBridgeConfig({ ...least, api: { ...least.api, sign_in: signIn } }, 'f').api.sign_in).toEqual({
      ...signIn,
      roles_claim: 'groups',
      request_scope: 'openid email',
      client_authentication: 'client_secret_basic',
    });
  });

  test('accepts the annotated example', () => {
    expect(problemWith(example)).toBe('');
  });

  test.each([
    [
      'a missing account',
      { ...least, accounts: [] },
      /bridge\.config\.ts cannot be used:\n {2}accounts: must have at least 1 item \(found \[\]\)/,
    ],
    ['a setting that does not exist', { ...least, acounts: [] }, /acounts: there is no such setting/],
    [
      'a nested setting that does not exist',
      { ...least, accounts: [{ ...account, key: 'x' }] },
      /accounts\.0\.key: there is no such setting/,
    ],
    [
      'a text that is not a URL',
      { ...least, accounts: [{ ...account, upstream_base_url: 'host' }] },
      /accounts\.0\.upstream_base_url: must be an address such as .* \(found "host"\)/,
    ],
    [
      'a name instead of an ARN',
      { ...least, api: { token_pepper_secret_arn: 'pepper' } },
      /api\.token_pepper_secret_arn: must be the complete ARN.*found a text of 6 characters/,
    ],
    [
      'a pepper that is another secret, too',
      { ...least, api: { token_pepper_secret_arn: account.key_secret_arn } },
      /api\.token_pepper_secret_arn: must be a secret of its own, .* \(found a text of \d+ characters\)/,
    ],
    [
      'a pepper among the upstream keys, which all functions may read',
      { ...least, api: { token_pepper_secret_arn: arn('operations-bridge/upstream-keys/pepper') } },
      /api\.token_pepper_secret_arn: must be a secret of its own/,
    ],
    [
      'too large a share',
      { ...least, accounts: [{ ...account, poller_requests_per_minute: 600 }] },
      /command_requests_per_minute: together with poller_requests_per_minute it may be limit_requests_per_minute at most/,
    ],
    [
      'an account twice',
      { ...least, accounts: [account, account] },
      /accounts: each account_id may stand there once/,
    ],
    [
      'thresholds that do not rise',
      { ...least, accounts: [{ ...account, stalled_after_seconds: { default: [10, 5] } }] },
      /accounts\.0\.stalled_after_seconds\.default: must rise/,
    ],
    [
      'a sign-in for an account that does not exist',
      { ...least, api: { ...least.api, sign_in: { ...signIn, account_id: 'mian' } } },
      /api\.sign_in\.account_id: names none of the accounts \(found "mian"\)/,
    ],
    [
      'access tokens for an account that does not exist',
      {
        ...least,
        api: { ...least.api, oidc: { issuer: signIn.issuer, audience: 'bridge', account_id: 'mian' } },
      },
      /api\.oidc\.account_id: names none of the accounts \(found "mian"\)/,
    ],
    [
      'an identity provider over http',
      { ...least, api: { ...least.api, sign_in: { ...signIn, issuer: 'http://127.0.0.1' } } },
      /api\.sign_in\.issuer: must be an address/,
    ],
    [
      'a role with a scope that does not exist',
      {
        ...least,
        api: { ...least.api, sign_in: { ...signIn, roles: [{ value: 'a', scopes: ['everything'] }] } },
      },
      /api\.sign_in\.roles\.0\.scopes\.0: is no scope, no bundle and no wildcard .* \(found "everything"\)/,
    ],
    ['nothing at all', undefined, /\(the whole file\): .*\(found nothing\)/],
  ])('reports %s by its key, with what was found and what is allowed', (_name, source, sentence) => {
    expect(problemWith(source)).toMatch(sentence);
  });

  const routed = (channels: readonly string[], alerts: object = {}) => ({
    ...least,
    alerts: { ...alerts, policy: { routes: [{ severity_min: 'critical' }, { channels }] } },
  });

  test('refuses a route to a channel that is not set up, and says what sets it up', () => {
    expect(problemWith(routed(['email', 'slack']))).toMatch(
      /alerts\.policy\.routes\.1\.channels\.1: is not set up: set alerts\.slack_webhook_secret_arn, .* \(found "slack"\)/,
    );
  });

  test('takes a route to a channel that is set up', () => {
    expect(problemWith(routed(['email', 'slack'], { slack_webhook_secret_arn: arn('slack') }))).toBe('');
    expect(problemWith(routed(['email']))).toBe('');
  });

  test('refuses a route to a channel that does not exist', () => {
    expect(problemWith(routed(['pager']))).toMatch(
      /routes\.1\.channels\.0: must be one of slack, email, .*found "pager"/,
    );
  });

  test('does not repeat a secret that was pasted where its ARN belongs', () => {
    expect(problemWith({ ...least, api: { token_pepper_secret_arn: 'a-real-secret-value' } })).not.toContain(
      'a-real-secret-value',
    );
  });
});
