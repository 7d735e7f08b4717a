import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
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

const SIGNING_SECRET = '0123456789abcdef0123456789abcdef';
const BOT = { token: 'xoxb-0000000000-test', channel: 'C0123456789', signing_secret: SIGNING_SECRET };

/** Sends a press as Slack does, through a tunnel with this host. Resolves to the status of the answer. */
async function press(origin: string, host: string, secret = SIGNING_SECRET): Promise<number | undefined> {
  const body = new URLSearchParams({ payload: '{"type":"block_actions"}' }).toString();
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const hmac = createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex');
  const asked = request(new URL('/bridge/v1/slack/interactions', origin), {
    method: 'POST',
    headers: {
      host,
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${hmac}`,
    },
  });
  asked.end(body);
  const [{ statusCode }] = (await once(asked, 'response')) as [IncomingMessage];
  return statusCode;
}

test('a press of a button on Slack reaches a run with the secret of a bot through its tunnel, and no other host does', {
  timeout: 120_000,
}, async () => {
  const stop = new AbortController();
  const pressed: (number | undefined)[] = [];
  let keepAlive: string | null = null;
  const options = parseStartOptions(['--projects', '2', '--public-url', 'https://bridge.example.com'], {});
  const pressAll = async (url: string) => {
    pressed.push(await press(url, 'bridge.example.com'));
    pressed.push(await press(url, 'bridge.example.com', 'f'.repeat(32)));
    pressed.push(await press(url, 'evil.example'));
    keepAlive = (await fetch(url)).headers.get('keep-alive');
  };
  await runLocalBridge(options, {
    signal: stop.signal,
    print: () => {},
    style: { isColoured: false },
    clock: systemClock,
    channelSecrets: { SLACK_WEBHOOK_URL: JSON.stringify(BOT) },
    onReady({ url }) {
      void pressAll(url).finally(() => stop.abort());
    },
  });

  expect(pressed).toEqual([200, 401, 421]);
  // A client may keep its connection for the longest pause that it is asked for, which is a minute.
  expect(keepAlive).toBe('timeout=75');
  await expectNothingLeft(0);
});

test.each([
  [['--public-url', 'http://bridge.example.com'], /--public-url is "http:.*https:/],
  [['--public-url', 'https://bridge.example.com', '--speed', '5'], /cannot be combined with --speed/],
])('a tunnel that cannot work is refused: %s', (args, reason) => {
  expect(() => parseStartOptions(args, {})).toThrow(reason);
});

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
