import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  announceLocalRun,
  connectionFinder,
  decideConnection,
  findLocalRun,
} from '../../../infra/cli/connection.ts';
import { aFolder } from '../../local/a-folder.ts';

const URL_OF_SETTINGS = 'https://bridge.example.com';
const URL_OF_RUN = 'http://127.0.0.1:1234';
const settings = { url: URL_OF_SETTINGS, token: 'of-settings' };
const run = {
  process_id: process.pid,
  url: URL_OF_RUN,
  token: 'of-run',
  aws_endpoint: 'http://127.0.0.1:1',
  upstream_base_url: 'http://127.0.0.1:2/api/v2',
  access_key_id: 'k',
};
const nothing = { url: undefined, token: undefined };

describe('the connection', () => {
  const found = (...args: Parameters<typeof decideConnection>) => {
    const connection = decideConnection(...args);
    return connection && [connection.url, connection.token.reveal()];
  };

  test('is what was asked for, then the settings, then the bridge on this machine', () => {
    expect(found({ url: 'https://asked.example.com', token: 'asked' }, settings, run)).toEqual([
      'https://asked.example.com',
      'asked',
    ]);
    expect(found(nothing, settings, run)).toEqual([URL_OF_SETTINGS, 'of-settings']);
    expect(found(nothing, {}, run)).toEqual([URL_OF_RUN, 'of-run']);
    expect(found(nothing, {}, undefined)).toBeUndefined();
  });

  test('takes a kept token only to the bridge that it was kept for', () => {
    const elsewhere = { url: 'https://elsewhere.example.com', token: undefined };

    expect(() => found(elsewhere, settings, run)).toThrow(/no token for the bridge at https:\/\/elsewhere/);
    expect(found({ ...nothing, url: URL_OF_SETTINGS }, settings, run)?.[1]).toBe('of-settings');
    expect(found({ ...nothing, url: URL_OF_RUN }, settings, run)?.[1]).toBe('of-run');
  });
});

describe('the bridge on this machine', () => {
  test('is a local run only with its own token, which ends with the run: another token that is refused stays refused', () => {
    expect(decideConnection(nothing, {}, run)?.isLocalRun).toBe(true);
    expect(decideConnection({ ...nothing, token: 'mistyped' }, {}, run)?.isLocalRun).toBe(false);
  });
});

describe('the settings', () => {
  const finderIn = (home: string, environment: Readonly<Record<string, string>> = {}, values = {}) =>
    connectionFinder(values, {
      environment: { HOME: home, ...environment },
      readInput: async () => ' from-stdin\n',
    });

  function aSettingsFile(content: string, mode = 0o600): string {
    const home = aFolder();
    const folder = join(home, '.config', 'operations-bridge');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'config.json'), content);
    chmodSync(join(folder, 'config.json'), mode);
    return home;
  }

  test('come from the file, the environment and the standard input, the last of which counts first', async () => {
    const home = aSettingsFile(JSON.stringify({ url: `${URL_OF_SETTINGS}/`, token: 'of-file' }));
    const token = async (...args: Parameters<typeof finderIn>) => (await finderIn(...args))()?.token.reveal();

    expect(await token(home)).toBe('of-file');
    expect(await token(home, { OPERATIONS_BRIDGE_TOKEN: 'of-environment' })).toBe('of-environment');
    expect(await token(home, { OPERATIONS_BRIDGE_TOKEN: 'of-environment' }, { tokenStdin: true })).toBe(
      'from-stdin',
    );
  });

  test.skipIf(process.platform === 'win32')('in a file that others can read are refused', async () => {
    await expect(finderIn(aSettingsFile('{}', 0o644))).rejects.toThrow(/use "chmod 600"/);
  });

  test.each(['', '{', '[]', '{"tokn": "x"}'])(
    'that are %j are refused with the names of the fields',
    async (text) => {
      await expect(finderIn(aSettingsFile(text))).rejects.toThrow(
        /a JSON object with the texts url, token, signing_secret/,
      );
    },
  );

  test.each(['http://bridge.example.com', 'bridge', 'ftp://127.0.0.1'])(
    'with the address %s are refused, because a token must not cross a network in plain text',
    async (url) => {
      await expect(finderIn(aFolder(), { OPERATIONS_BRIDGE_URL: url })).rejects.toThrow(
        /OPERATIONS_BRIDGE_URL is ".*"; it takes the address of the bridge/,
      );
    },
  );
});

describe('a run on this machine', () => {
  const addresses = {
    url: URL_OF_RUN,
    token: 'secret',
    awsEndpoint: 'http://127.0.0.1:1',
    accessKeyId: 'k',
    upstreamBaseUrl: 'http://127.0.0.1:2/api/v2',
  };

  test('is found while its process lives, in a file for its user only', () => {
    const environment = { HOME: aFolder() };
    expect(findLocalRun(environment)).toBeUndefined();
    {
      using announced = announceLocalRun(environment, process.pid);
      announced.write(addresses);
      const file = join(environment.HOME, '.local/state/operations-bridge/local-run.json');

      expect(findLocalRun(environment)).toMatchObject({ url: URL_OF_RUN, token: 'secret' });
      expect(statSync(file).mode & 0o077).toBe(0);
    }
    expect(findLocalRun(environment)).toBeUndefined();
  });

  test('that was killed is not found', () => {
    const environment = { HOME: aFolder() };
    // No process has the largest possible id.
    announceLocalRun(environment, 2 ** 31 - 1).write(addresses);

    expect(findLocalRun(environment)).toBeUndefined();
  });

  test('does not withdraw the announcement of a later run', () => {
    const environment = { HOME: aFolder() };
    {
      using earlier = announceLocalRun(environment, 2 ** 31 - 1);
      earlier.write(addresses);
      announceLocalRun(environment, process.pid).write({ ...addresses, token: 'later' });
    }

    expect(findLocalRun(environment)?.token).toBe('later');
  });

  test('is found again when a later run has ended before it', () => {
    const environment = { HOME: aFolder() };
    using earlier = announceLocalRun(environment, process.pid);
    earlier.write(addresses);
    {
      using later = announceLocalRun(environment, process.ppid);
      later.write({ ...addresses, token: 'later' });
      expect(findLocalRun(environment)?.token).toBe('later');
    }

    expect(findLocalRun(environment)?.token).toBe(addresses.token);
  });
});
