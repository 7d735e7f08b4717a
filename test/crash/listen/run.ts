/**
 * `npm run crash-test -- listen --minutes 20 --kills 3 --away 120` forwards events for a while, kills `listen` at random
 * moments, takes the receiving server away once, and compares what arrived with what was published.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseInteger, runCommand } from '../../../infra/process/command.ts';
import { startUpstream } from '../../../infra/simulator/start-upstream.ts';
import { AppError } from '../../../shared/runtime/errors.ts';
import { killMoments } from '../options.ts';
import { listenThroughKills } from './listen-through-kills.ts';

const HELP = `npm run crash-test -- listen [options]   kills listen repeatedly and compares what it forwarded
  --minutes N   minutes of events (default 20)
  --kills N     number of kills, at moments that the seed draws (default 3)
  --away N      seconds for which the receiving server is away, from the middle on (default 120)
  --seed S      decides the world and the moments (default 1)`;

const API_KEY = 'crash-test-listen-key';
const PROJECTS = 30;

/** An event that has not arrived by then counts as lost. */
const DRAIN_MS_MAX = 180_000;

await runCommand(async (signal) => {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '20' },
      kills: { type: 'string', default: '3' },
      away: { type: 'string', default: '120' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const minutes = parseInteger('minutes', values.minutes, { min: 1, max: 600 });
  const seed = parseInteger('seed', values.seed, { min: 0, max: 2 ** 31 });
  const kills = parseInteger('kills', values.kills, { min: 0, max: 1_000 });
  const awayMs = parseInteger('away', values.away, { min: 0, max: minutes * 30 }) * 1_000;
  const durationMs = minutes * 60_000;
  const folder = mkdtempSync(join(tmpdir(), 'crash-test-listen-'));
  try {
    await using upstream = await startUpstream({
      seed,
      projectCount: PROJECTS,
      apiKeys: [API_KEY],
      sessionsPerHour: 60,
    });
    const found = await listenThroughKills({
      upstreamBaseUrl: upstream.baseUrl,
      apiKey: API_KEY,
      folder,
      durationMs,
      killsMs: killMoments({ minutes, kills, seed, projects: PROJECTS, keep: false }),
      awayMs: [durationMs / 2, durationMs / 2 + awayMs],
      drainMsMax: DRAIN_MS_MAX,
      signal,
      print: (line) => console.log(line),
    });
    console.log(
      `${found.publishedCount} events published, ${found.missing.length} of them missing, ${found.copyCount} copies received, ${found.faults.length} faults, exit code ${found.listenExitCode}`,
    );
    if (found.missing.length + found.faults.length > 0 || found.listenExitCode !== 0)
      throw new AppError('promise_broken', `listen did not keep its promise: ${found.faults.join('; ')}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
