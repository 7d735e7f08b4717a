import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { probeUpstream } from '../../infra/local/local-upstream.ts';
import { UsageError } from '../../infra/process/command.ts';

/** Starts an upstream that accepts requests and never answers, with a clock that only the test moves. */
async function aSilentUpstream() {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const sleepers = new Set<{ readonly atMs: number; readonly wake: () => void }>();
  let nowMs = 0;
  const clock = {
    now: () => nowMs,
    sleep(durationMs: number, signal?: AbortSignal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const sleeper = { atMs: nowMs + durationMs, wake: resolve };
      sleepers.add(sleeper);
      signal?.addEventListener('abort', () => {
        sleepers.delete(sleeper);
        reject(signal.reason);
      });
      return promise;
    },
  };
  const passTo = async (toMs: number) => {
    nowMs = toMs;
    for (const sleeper of sleepers) if (sleeper.atMs <= toMs && sleepers.delete(sleeper)) sleeper.wake();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const lines: string[] = [];
  const stop = new AbortController();
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`;
  const surroundings = { clock, print: (line: string) => void lines.push(line), signal: stop.signal };
  const probing = probeUpstream({ baseUrl, apiKey: 'silent-canary-key' }, surroundings);
  const outcome = probing.then(
    () => 'returned',
    (error: unknown) => error,
  );
  await once(server, 'request');
  return { baseUrl, passTo, lines, stop, outcome, sleepers };
}

test('an upstream that never answers is reported after ten seconds and given up after thirty', async () => {
  const { baseUrl, passTo, lines, outcome, sleepers } = await aSilentUpstream();
  await passTo(9_999);
  expect(lines).toEqual([]);
  await passTo(10_000);
  expect(lines).toEqual([
    `The upstream at ${baseUrl} has not answered for 10 seconds; waiting until 30 have passed (Ctrl-C ends it now).`,
  ]);
  await passTo(30_000);

  const error = await outcome;
  expect(error).toBeInstanceOf(UsageError);
  expect((error as Error).message).toBe(
    `The upstream at ${baseUrl} cannot be used (no answer for 30 seconds); check the URL and the network.`,
  );
  expect(sleepers.size).toBe(0);
});

test('Ctrl-C ends the wait for an upstream that never answers', async () => {
  const { stop, outcome, lines, sleepers } = await aSilentUpstream();
  stop.abort(new Error('stopped by the user'));

  expect(await outcome).toBe('returned');
  expect(lines).toEqual([]);
  expect(sleepers.size).toBe(0);
});
