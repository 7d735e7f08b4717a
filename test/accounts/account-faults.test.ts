import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { accountFaults } from '../../shared/accounts/account.ts';
import { RULES } from './an-account.ts';

const PIECES = [
  'https: http: // / \\ @ : . # ? %2e %40 api.example.com evil.example api v2 443 80 [::1] 0 127.1 ａｐｉ'.split(
    ' ',
  ),
  ['\t', '\n', ' '],
].flat();

const KEY = 'operations-bridge/upstream-keys/tenants';

const faultsOf = (upstream_base_url: string, key_secret_id = KEY) =>
  accountFaults({ upstream_base_url, key_secret_id, command_key_secret_id: undefined }, RULES);

describe('a key', () => {
  test('may be sent to a host that the deployment allows', () => {
    expect(faultsOf('https://api.example.com/api/v2')).toEqual([]);
  });

  test.each([
    'http://api.example.com/api/v2',
    'https://api.example.com:8443/api/v2',
    'https://api.example.com:443/api/v2',
    'https://api.example.com./api/v2',
    'https://API.example.com/api/v2',
    'https://ap%69.example.com/api/v2',
    'https://api.example.com@evil.example/api/v2',
    'https://user@api.example.com/api/v2',
    'https://api.example.com.evil.example/api/v2',
    'https://evil.example/?api.example.com',
    'https://evil.example/#api.example.com',
    'https://evil.example\\@api.example.com/api/v2',
    'https:api.example.com/api/v2',
    'https:///api.example.com/api/v2',
    ' https://api.example.com/api/v2',
    'https://api.example.com/../api/v2',
    'https://api.example.com/a\tpi/v2',
    'https://api。example.com/api/v2',
    'https://2130706433/api/v2',
    'https://0x7f.1/api/v2',
    'https://[::ffff:169.254.169.254]/api/v2',
    'https://169.254.169.254/api/v2',
    'ftp://api.example.com/api/v2',
    'javascript://api.example.com/%0aalert(1)',
    'data:text/plain,api.example.com',
    'api.example.com',
    '',
  ])('must not be sent to an address that is another one or is written otherwise: %s', (address) => {
    expect(faultsOf(address)).toMatchObject([{ field: 'upstream_base_url' }]);
  });

  test('is never sent to another host than the one that a person reads, whatever the address looks like', () => {
    const piece = fc.constantFrom(...PIECES);
    const addresses = fc.array(piece, { minLength: 1, maxLength: 9 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(addresses, (address) => {
        const isAllowed = faultsOf(address).length === 0;
        const isWhatItSeems = /^https:\/\/api\.example\.com\/[\w./-]*$/.test(address);
        if (isAllowed) expect(isWhatItSeems).toBe(true);
        if (isAllowed) expect(new URL(address).origin).toBe('https://api.example.com');
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('the reason', () => {
  test.each([
    ['http://api.example.com/api/v2', 'must begin with https:// so that the key is not sent in clear'],
    ['not an address', 'Invalid URL'],
    ['https://API.example.com/api/v2', 'must be written plainly, as https://api.example.com/api/v2'],
    ['https://api.example.com/api/v2;x', 'must be written plainly, as https://api.example.com/api/v2'],
    ['https://api.example.com/api/v2%2f', 'must be written plainly, as https://api.example.com/api/v2'],
    [
      'https://evil.example/api/v2',
      'must have one of the hosts that the deployment allows (upstream_hosts): api.example.com, eu.example.com',
    ],
  ])('why a key must not go to %s says what to write', (upstream_base_url, reason) => {
    const rules = { ...RULES, upstreamHosts: ['api.example.com', 'eu.example.com'] };
    const account = { upstream_base_url, key_secret_id: KEY, command_key_secret_id: undefined };

    expect(accountFaults(account, rules)).toEqual([{ field: 'upstream_base_url', reason }]);
  });

  test('why a secret must not be used says how its name begins', () => {
    expect(faultsOf('https://api.example.com/api/v2', 'a-secret')).toEqual([
      {
        field: 'key_secret_id',
        reason:
          'must be the name of a secret that begins with operations-bridge/upstream-keys/, where nothing but upstream keys is kept',
      },
    ]);
  });
});

describe('the secret of an added account', () => {
  test.each([
    'operations-bridge/token-pepper',
    'operations-bridge/upstream-keys',
    'operations-bridge/upstream-keys/',
    'operations-bridge/upstream-keysx/tenants',
    'other/operations-bridge/upstream-keys/tenants',
    'arn:aws:secretsmanager:us-east-1:123456789012:secret:operations-bridge/upstream-keys/tenants-AbCdEf',
    'operations-bridge/upstream-keys/*',
    'operations-bridge/upstream-keys/a b',
    'operations-bridge/upstream-keys/a:b',
  ])('must be one of those that hold nothing but upstream keys: not %s', (secretId) => {
    expect(faultsOf('https://api.example.com/api/v2', secretId)).toMatchObject([{ field: 'key_secret_id' }]);
  });

  test('must be such a secret for commands, too', () => {
    const account = {
      upstream_base_url: 'https://api.example.com/api/v2',
      key_secret_id: KEY,
      command_key_secret_id: 'operations-bridge/slack',
    };

    expect(accountFaults(account, RULES)).toMatchObject([{ field: 'command_key_secret_id' }]);
  });
});
