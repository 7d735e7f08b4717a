import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { runLocalBridge } from '../../infra/local/local-bridge.ts';
import { systemClock } from '../../shared/runtime/clock.ts';
import { aFolder } from './a-folder.ts';
import { parseStartOptions } from './start-options.ts';

async function aTakenPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

/** Runs the whole bridge in this process, so that the test can see what it leaves open. */
function run(args: readonly string[], signal: AbortSignal, onLine: (line: string) => void = () => {}) {
  const options = parseStartOptions(args, {});
  const surroundings = { signal, print: onLine, style: { isColoured: false }, clock: systemClock };
  return runLocalBridge(options, surroundings);
}

/** Counts servers and threads of this process; timers and closed sockets change all the time. */
function openServersAndThreads(): number {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name === 'TCPServerWrap' || name === 'MessagePort' || name === 'Worker').length;
}

const OPEN_AT_FIRST = openServersAndThreads();

/**
 * Waits until no more is open than at the start. Resources of an earlier test may still close; the port that this
 * test took stays open.
 */
async function expectNothingLeft(ownServers: number): Promise<void> {
  await expect
    .poll(openServersAndThreads, { timeout: 20_000 })
    .toBeLessThanOrEqual(OPEN_AT_FIRST + ownServers);
}

test.each([
  ['--api-port', { message: expect.stringContaining('choose another one with --api-port') }],
  ['--port', { code: 'EADDRINUSE' }],
])('a start that fails because the port of %s is in use leaves nothing open', async (option, refusal) => {
  const folder = aFolder();
  const port = await aTakenPort();
  const { signal } = new AbortController();
  const args = ['--projects', '2', '--data', folder, option, port];

  await expect(run(args, signal)).rejects.toMatchObject(refusal);
  await expectNothingLeft(1);
  // The folder is free too: the same start fails at the port again and not at the lock.
  await expect(run(args, signal)).rejects.toMatchObject(refusal);
});

test('a run that is stopped leaves nothing open', { timeout: 120_000 }, async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  await run(['--projects', '2'], stop.signal, (line) => {
    lines.push(line);
    if (line.includes('projects read')) stop.abort();
  });

  expect(lines.at(-1)).toMatch(/requests, \d+ a minute/);
  await expectNothingLeft(0);
});
