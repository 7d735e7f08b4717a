/** The one configuration file: what may be left out, and what is said about mistakes. */

import { describe, expect, test } from 'vitest';
import example from '../../bridge.config.example.ts';
import { parseBridgeConfig } from '../../shared/config/bridge-config.ts';

const arn = (name: string) => `arn:aws:secretsmanager:eu-central-1:123456789012:secret:${name}-AbCdEf`;
const account = { account_id: 'main', upstream_base_url: 'https://host/api/v2', key_secret_arn: arn('key') };
const least = { accounts: [account], api: { token_pepper_secret_arn: arn('pepper') } };

const problemWith = (source: unknown) => {
  try {
    parseBridgeConfig(source, 'bridge.config.ts');
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : '';
  }
};

describe('the configuration', () => {
  test('needs an account and two secrets; everything else has a default', () => {
    expect(parseBridgeConfig(least, 'f')).toMatchObject({
      name: 'operations-bridge',
      accounts: [
        {
          poller_requests_per_minute: 350,
          command_requests_per_minute: 250,
          poll_interval_seconds: 5,
          backfill: 'open',
        },
      ],
      alerts: { emails: [], policy: { window_seconds: 300 } },
      thresholds: { walk_age_minutes: 30 },
      log_retention_days: 30,
    });
  });

  test('the annotated example is one', () => {
    expect(problemWith(example)).toBe('');
  });

  test.each([
    [
      'a missing account',
      { ...least, accounts: [] },
      /bridge\.config\.ts cannot be used:\n {2}accounts: .*>=1 items \(found \[\]\)/,
    ],
    ['a setting that does not exist', { ...least, acounts: [] }, /acounts: there is no such setting/],
    [
      'a nested one',
      { ...least, accounts: [{ ...account, key: 'x' }] },
      /accounts\.0\.key: there is no such setting/,
    ],
    [
      'a URL that is none',
      { ...least, accounts: [{ ...account, upstream_base_url: 'host' }] },
      /accounts\.0\.upstream_base_url: Invalid URL \(found "host"\)/,
    ],
    [
      'a name instead of an ARN',
      { ...least, api: { token_pepper_secret_arn: 'pepper' } },
      /api\.token_pepper_secret_arn: must be the complete ARN.*found a text of 6 characters/,
    ],
    [
      'too large a share',
      { ...least, accounts: [{ ...account, poller_requests_per_minute: 600 }] },
      /command_requests_per_minute: together with poller_requests_per_minute it may be 700 at most/,
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
    ['nothing at all', undefined, /\(the whole file\): .*\(found nothing\)/],
  ])('names the key of %s, what was found and what is allowed', (_name, source, sentence) => {
    expect(problemWith(source)).toMatch(sentence);
  });

  test('a secret that was pasted where its ARN belongs is not repeated', () => {
    expect(problemWith({ ...least, api: { token_pepper_secret_arn: 'a-real-secret-value' } })).not.toContain(
      'a-real-secret-value',
    );
  });
});
