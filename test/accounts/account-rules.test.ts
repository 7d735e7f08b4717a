import { expect, test } from 'vitest';
import { upstreamHostsOf } from '../../infra/bridge-config.ts';
import { readAccountRules } from '../../shared/config/account-rules.ts';

const rulesOf = (hosts: readonly string[]) =>
  readAccountRules({
    UPSTREAM_HOSTS: JSON.stringify(hosts),
    UPSTREAM_KEYS_PREFIX: 'a-bridge/upstream-keys/',
  });

const accounts = [
  { upstream_base_url: 'https://api.example.com/api/v2' },
  { upstream_base_url: 'https://api.example.com/api/v2' },
  { upstream_base_url: 'https://eu.example.com:8443/api/v2' },
] as never;

test('the hosts of the configured accounts are allowed when the configuration names none', () => {
  const hosts = upstreamHostsOf({ accounts, upstream_hosts: undefined });

  expect(hosts).toHaveLength(2);
  expect(rulesOf(hosts).upstreamHosts).toEqual(['api.example.com', 'eu.example.com:8443']);
});

test('the hosts of the configuration are allowed, and no others', () => {
  const hosts = upstreamHostsOf({ accounts, upstream_hosts: ['other.example.com'] });

  expect(rulesOf(hosts).upstreamHosts).toEqual(['other.example.com']);
});

test.each(['API.example.com', 'api.example.com/path', 'user@api.example.com', '*', '', 'not a url://'])(
  'a text that is no host as a URL writes it is refused: %j',
  (host) => {
    expect(() => rulesOf([host])).toThrow('UPSTREAM_HOSTS');
  },
);
