/** Accounts that were added to the bridge of this machine, when it is started again with the same folder. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startUpstream } from '../../infra/simulator/start-upstream.ts';
import { type BridgeOnThisMachine, startBridgeOnThisMachine } from './bridge-on-this-machine.ts';

const KEY = 'restart-canary-key';

interface Listed {
  readonly account_id: string;
  readonly state: string;
  readonly healthy?: boolean;
  readonly reasons: readonly string[];
  readonly project_count?: number;
}

async function tenantOf(bridge: BridgeOnThisMachine): Promise<Listed | undefined> {
  const { output } = await bridge.run(['accounts', 'list', '--json']);
  const listed = output.split('\n').map((line) => JSON.parse(line) as Listed);
  return listed.find(({ account_id }) => account_id === 'tenant');
}

function aDataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-data-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const POLLED = { timeout: 120_000, interval: 500 };

describe('an account that was added before a restart', { timeout: 300_000 }, () => {
  test('goes on with the simulated upstream, which is where it was and has the key that it had', async () => {
    const args = ['--projects', '2', '--data', aDataFolder()];
    {
      await using first = await startBridgeOnThisMachine(args);
      const environment = { KEY: 'simulated-key-1' };
      await first.run(['accounts', 'add', 'tenant', '--key-env', 'KEY'], { environment });
    }
    await using second = await startBridgeOnThisMachine(args);

    await expect
      .poll(() => tenantOf(second), POLLED)
      .toMatchObject({ state: 'active', healthy: true, project_count: 2 });
    expect(second.output()).not.toMatch(/tenant.*(key\.unreadable|poll\.failed)/);
  });

  test('has no key of a real account: the start says how to store it, and the account is not healthy until then', async () => {
    const upstream = await startUpstream({ seed: 4, projectCount: 2, apiKeys: [KEY] });
    onTestFinished(() => upstream.close());
    const folder = aDataFolder();
    const args = ['--upstream', upstream.baseUrl, '--data', folder];
    const environment = { UPSTREAM_API_KEY: KEY, KEY };
    {
      await using first = await startBridgeOnThisMachine(args, environment);
      await first.run(['accounts', 'add', 'tenant', '--key-env', 'KEY'], { environment });
    }
    await using second = await startBridgeOnThisMachine(args, environment);
    expect(second.output()).toContain('  KEY=... operations-bridge accounts set tenant --key-env KEY\n');

    await expect
      .poll(() => tenantOf(second), POLLED)
      .toMatchObject({ healthy: false, reasons: [expect.stringMatching(/key cannot be read/)] });
    expect(second.output()).toMatch(
      /poller: account tenant: key\.unreadable, .*upstream-keys\/tenant cannot be read \(\w+\)\. Put the key/,
    );
    expect(second.output()).not.toContain('poll.failed');

    await second.run(['accounts', 'set', 'tenant', '--key-env', 'KEY'], { environment });
    await expect.poll(() => tenantOf(second), POLLED).toMatchObject({ healthy: true, project_count: 2 });
    for (const file of ['events.jsonl', 'poller.log', 'bridge.json'])
      expect(readFileSync(join(folder, file), 'utf8')).not.toContain(KEY);
  });
});
