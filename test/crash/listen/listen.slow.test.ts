import { expect, onTestFinished, test } from 'vitest';
import { startUpstream } from '../../../infra/simulator/start-upstream.ts';
import { aFolder } from '../../local/a-folder.ts';
import { listenThroughKills } from './listen-through-kills.ts';

const API_KEY = 'listen-canary-key';

test('listen forwards every event although it is killed three times and the server is away for a while', {
  timeout: 600_000,
}, async () => {
  const upstream = await startUpstream({
    seed: 5,
    projectCount: 10,
    apiKeys: [API_KEY],
    sessionsPerHour: 600,
    historyMs: 60_000,
  });
  onTestFinished(() => upstream.close());

  const found = await listenThroughKills({
    upstreamBaseUrl: upstream.baseUrl,
    apiKey: API_KEY,
    folder: aFolder(),
    durationMs: 24_000,
    killsMs: [4_000, 10_000, 18_000],
    awayMs: [8_000, 14_000],
    drainMsMax: 300_000,
    signal: new AbortController().signal,
    print: () => {},
  });

  expect(found).toMatchObject({ missing: [], faults: [], listenExitCode: 0 });
  expect(found.publishedCount).toBeGreaterThan(20);
});
