/** An account that is added to the bridge of this machine: its key, its polls and its end. */

import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, test } from 'vitest';
import { findLocalRun } from '../../infra/cli/connection.ts';
import { KEY_SECRET_ID } from '../../infra/local/bridge-names.ts';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

/** The second account has the key of the first one, because the simulated upstream has one account. */
async function keyOf(bridge: BridgeOnThisMachine): Promise<string> {
  const run = findLocalRun(bridge.environment);
  const client = new SecretsManagerClient({
    endpoint: run?.aws_endpoint ?? '',
    region: 'us-east-1',
    credentials: { accessKeyId: run?.access_key_id ?? '', secretAccessKey: 'unused' },
  });
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId: KEY_SECRET_ID }));
  client.destroy();
  return SecretString ?? '';
}

interface Listed {
  readonly account_id: string;
  readonly state: string;
  readonly project_count?: number;
}

test('an account that is added is polled, takes another key, is paused and resumed, and is gone when it is removed', {
  timeout: 240_000,
}, async () => {
  await using bridge = await startBridgeOnThisMachine(['--projects', '3', '--seed', '2', '--speed', '20']);
  const environment = { ...bridge.environment, TENANT_KEY: await keyOf(bridge), WRONG_KEY: 'napi_wrong' };
  const accounts = (...args: readonly string[]) => bridge.run(['accounts', ...args], { environment });
  const tenant = async (): Promise<Listed | undefined> => {
    const { output } = await accounts('list', '--json');
    const listed = output.split('\n').map((line) => JSON.parse(line) as Listed);
    return listed.find(({ account_id }) => account_id === 'tenant');
  };

  await expect(accounts('add', 'tenant', '--key-env', 'WRONG_KEY')).rejects.toThrow('refuses the key');
  // The wrong key was taken out again, so the right one finds the place free.
  const added = await accounts('add', 'tenant', '--key-env', 'TENANT_KEY');
  expect(added.notes).toContain('The key is in the secret operations-bridge/upstream-keys/tenant.');
  expect(added.notes).toContain('The key sees 3 projects.');

  await expect.poll(async () => (await tenant())?.project_count, { timeout: 120_000, interval: 500 }).toBe(3);

  const wrong = accounts('set', 'tenant', '--key-env', 'WRONG_KEY');
  await expect(wrong).rejects.toThrow('refuses the key');
  const same = await accounts('set', 'tenant', '--key-env', 'TENANT_KEY');
  expect(same.notes).toContain('The secret operations-bridge/upstream-keys/tenant held this key already.');

  expect((await accounts('pause', 'tenant')).output).toMatch(/^tenant +paused +added/);
  expect((await accounts('resume', 'tenant')).output).toMatch(/^tenant +active +added/);
  await accounts('remove', 'tenant');
  expect(await tenant()).toBeUndefined();
});
