import { describe, expect, test } from 'vitest';
import type { AccountItem } from '../../shared/accounts/account.ts';
import { accountSettings, commandSettingsOf, pollSettingsOf } from '../../shared/accounts/account.ts';
import { mergeAccounts } from '../../shared/accounts/account-directory.ts';
import { apiAccount } from '../../shared/config/api-config.ts';
import { pollAccountRequest } from '../../shared/config/poller-config.ts';
import { anAccount, anAccountItem, RULES } from './an-account.ts';

const CONFIGURED = anAccount({ account_id: 'main' });

const merge = (items: readonly AccountItem[]) =>
  mergeAccounts([pollSettingsOf(CONFIGURED)], items, { rules: RULES, settingsOf: pollSettingsOf });

/** An item of a configured account has no settings of its own. */
function aMark(fields: Partial<AccountItem>): AccountItem {
  const { settings: _none, ...mark } = anAccountItem({ account_id: 'main', ...fields });
  return mark;
}

describe('the accounts that a function serves', () => {
  test('are the configured ones when the table has none', () => {
    expect([...merge([])]).toEqual([
      [
        'main',
        {
          settings: pollSettingsOf(CONFIGURED),
          state: 'active',
          generation: 1,
          origin: 'configured',
          lane: undefined,
        },
      ],
    ]);
  });

  test('are the configured and the added ones together', () => {
    const accounts = merge([anAccountItem({ account_id: 'tenant', lane: 3 })]);

    expect([...accounts.keys()].toSorted()).toEqual(['main', 'tenant']);
    expect(accounts.get('tenant')).toMatchObject({ state: 'active', origin: 'added', lane: 3 });
  });

  test('include a configured account that an item pauses', () => {
    expect(merge([aMark({ state: 'paused' })]).get('main')).toMatchObject({ state: 'paused' });
  });

  test.each(['active', 'removed'] as const)(
    'include a configured account whatever else its item says: %s',
    (state) => {
      expect(merge([aMark({ state })]).get('main')).toMatchObject({ state: 'active' });
    },
  );

  test('keep the settings of the deployment when an item of the same id has others', () => {
    const settings = anAccount({ account_id: 'main', poller_requests_per_minute: 11 });
    const accounts = merge([anAccountItem({ account_id: 'main', settings, lane: 5 })]);

    expect(accounts.get('main')).toEqual(merge([]).get('main'));
  });

  test('do not include a removed account, nor an item without settings that is not configured', () => {
    const gone = anAccountItem({ account_id: 'gone', state: 'removed' });
    const mark = aMark({ account_id: 'no-longer-configured', state: 'paused' });

    expect([...merge([gone, mark]).keys()]).toEqual(['main']);
  });

  test('do not include an item whose settings belong to another account', () => {
    const item = { ...anAccountItem({ account_id: 'tenant' }), settings: anAccount({ account_id: 'other' }) };

    expect([...merge([item]).keys()]).toEqual(['main']);
  });

  test('refuse an added account whose host the deployment does not allow, or allows no longer', () => {
    const settings = anAccount({ upstream_base_url: 'https://elsewhere.example.com/api/v2' });

    expect(merge([anAccountItem({ settings })]).get('tenant')).toMatchObject({
      state: 'refused',
      fault: expect.stringContaining('upstream_base_url'),
    });
  });

  test('refuse an added account that names a secret which holds no upstream keys', () => {
    const settings = anAccount({ key_secret_id: 'operations-bridge/token-pepper' });

    expect(merge([anAccountItem({ settings })]).get('tenant')).toMatchObject({
      state: 'refused',
      fault: expect.stringContaining('key_secret_id'),
    });
  });
});

describe('what functions get of an account', () => {
  const account = anAccount({ command_key_secret_id: 'operations-bridge/upstream-keys/commands' });

  test('is what the poller parses', () => {
    expect(pollAccountRequest.parse(pollSettingsOf(account))).toEqual(pollSettingsOf(account));
  });

  test('is what the API parses, with the key for commands', () => {
    expect(apiAccount.parse(commandSettingsOf(account))).toEqual(commandSettingsOf(account));
    expect(commandSettingsOf(account).key_secret_id).toBe('operations-bridge/upstream-keys/commands');
  });

  test('has the interval, the projects and the page that the account has', () => {
    const full = anAccount({
      poll_interval_seconds: 2,
      project_ids: ['a-project'],
      upstream_page_url: 'https://vendor.example/{project_id}',
    });

    expect(pollSettingsOf(full)).toMatchObject({ poll_interval_seconds: 2, project_ids: ['a-project'] });
    expect(commandSettingsOf(full)).toMatchObject({
      poll_interval_seconds: 2,
      upstream_page_url: 'https://vendor.example/{project_id}',
    });
  });

  test('lacks what the account does not have', () => {
    expect(Object.keys(pollSettingsOf(account))).not.toContain('poll_interval_seconds');
    expect(Object.keys(pollSettingsOf(account))).not.toContain('project_ids');
    expect(Object.keys(commandSettingsOf(account))).not.toContain('upstream_page_url');
  });
});

describe('the shares of an account', () => {
  const withCommands = (command_requests_per_minute: number) =>
    accountSettings.safeParse({
      ...anAccount(),
      limit_requests_per_minute: 700,
      poller_requests_per_minute: 400,
      command_requests_per_minute,
    });

  test('may use the whole limit together', () => {
    expect(withCommands(300).success).toBe(true);
  });

  test('are refused when they are more than the limit, at the setting that can be lowered', () => {
    expect(withCommands(301).error?.issues).toMatchObject([
      {
        path: ['command_requests_per_minute'],
        message:
          'together with poller_requests_per_minute it may be limit_requests_per_minute at most; leave some for the Console',
      },
    ]);
  });
});
