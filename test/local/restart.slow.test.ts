import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runLocalBridge } from '../../infra/local/local-bridge.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { aFolder } from './a-folder.ts';
import { parseStartOptions } from './start-options.ts';

const UPSTREAM = /upstream +(http:\/\/127\.0\.0\.1:\d+\/api\/v2)/;

/** Runs a bridge until it has said where its upstream is. Resolves to that address. */
async function upstreamOfRun(folder: string): Promise<string> {
  const stop = new AbortController();
  let address = '';
  await runLocalBridge(parseStartOptions(['--projects', '1', '--data', folder], {}), {
    signal: stop.signal,
    print(line) {
      address ||= UPSTREAM.exec(line)?.[1] ?? '';
      if (address !== '') stop.abort();
    },
    style: { isColoured: false },
    clock: systemClock,
  });
  return address;
}

async function takePort(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  return server;
}

describe('the simulated upstream of a data folder', { timeout: 120_000 }, () => {
  test('is at the same address after a restart, because the addresses of added accounts name it', async () => {
    const folder = aFolder();
    const first = await upstreamOfRun(folder);

    expect(await upstreamOfRun(folder)).toBe(first);
    expect(readFileSync(join(folder, 'upstream-port'), 'utf8')).toBe(`${new URL(first).port}\n`);
  });

  test('is not moved when another program has its port: the start is refused with the file and the remedy', async () => {
    const folder = aFolder();
    const { port } = new URL(await upstreamOfRun(folder));
    const server = await takePort(Number(port));

    await expect(upstreamOfRun(folder)).rejects.toThrow(
      `Port ${port}, which the simulated upstream of this folder has in every run, cannot be used (listen EADDRINUSE: address already in use 127.0.0.1:${port}). Stop the program that uses it, or delete ${join(folder, 'upstream-port')}: the upstream then gets another port, and accounts that were added must be removed and added again.`,
    );

    rmSync(join(folder, 'upstream-port'));
    const moved = await upstreamOfRun(folder);
    server.close();
    expect(new URL(moved).port).not.toBe(port);
    expect(await upstreamOfRun(folder)).toBe(moved);
  });

  test.each([
    ['', 'is empty'],
    ['many', 'does not hold the number of a port'],
    ['0', 'does not hold the number of a port'],
    ['65536', 'does not hold the number of a port'],
    ['40123 40124', 'does not hold the number of a port'],
  ])('is not guessed when the file holds %j', async (content, fault) => {
    const folder = aFolder();
    const file = join(folder, 'upstream-port');
    writeFileSync(file, content);

    await expect(upstreamOfRun(folder)).rejects.toThrow(`${file} ${fault}, so it is unknown where`);
  });
});
