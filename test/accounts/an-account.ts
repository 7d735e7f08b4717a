/** Builds accounts so that tests read aloud. */

import type { AccountItem } from '../../shared/accounts/account.ts';
import { type AccountSettings, accountSettings } from '../../shared/accounts/account.ts';
import type { AccountRules } from '../../shared/config/account-rules.ts';

export const RULES: AccountRules = {
  upstreamHosts: ['api.example.com'],
  keySecretPrefix: 'operations-bridge/upstream-keys/',
};

export function anAccount(fields: Partial<AccountSettings> = {}): AccountSettings {
  return accountSettings.parse({
    account_id: 'tenant',
    upstream_base_url: 'https://api.example.com/api/v2',
    key_secret_id: 'operations-bridge/upstream-keys/tenants',
    ...fields,
  });
}

export function anAccountItem(fields: Partial<AccountItem> = {}): AccountItem {
  const settings = fields.settings ?? anAccount({ account_id: fields.account_id ?? 'tenant' });
  return {
    account_id: settings.account_id,
    version: 1,
    state: 'active',
    settings,
    added_at: '2026-01-15T12:00:00.000Z',
    added_by: 'an-admin',
    changed_at: '2026-01-15T12:00:00.000Z',
    changed_by: 'an-admin',
    ...fields,
  };
}
