/**
 * `npm run bench -- lanes` measures one lane as a real process: the production handler polls 100
 * accounts of 10 projects over HTTP, against a simulated service and the local AWS in another process. It prints
 * processor time and memory, minute by minute.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleEntry, FOR_LAMBDA } from '../../../infra/aws/bundle.ts';

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '100' },
    projects: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '4' },
    sessions: { type: 'string', default: '1' },
    /** Settings of each account. The default is what docs/deploy/add-an-account.md advises for a lane of small accounts. */
    settings: {
      type: 'string',
      default: '{"requests_per_minute":30,"command_requests_per_minute":10,"poll_interval_seconds":1}',
    },
  },
});

interface WorldCounts {
  readonly requestCount: number;
  readonly refusedCount: number;
  readonly calls: Readonly<Record<string, number>>;
}

const world = fork(new URL('./lane-world.ts', import.meta.url), [
  values.accounts,
  values.projects,
  values.sessions,
]);
const [ready] = (await once(world, 'message')) as [{ port: number; environment: Record<string, string> }];
const event = {
  lane: 0,
  lanes: 1,
  shared_lanes: 1,
  accounts: Array.from({ length: Number(values.accounts) }, (_, index) => ({
    account_id: `account-${index}`,
    upstream_base_url: `http://127.0.0.1:${ready.port}/api/v2`,
    key_secret_id: `key-${index}`,
    ...(JSON.parse(values.settings) as object),
  })),
};
/** A deployment gives a lane of 256 MB these flags (infra/aws/resources/poller.ts). */
const flags = ['--max-old-space-size=120', '--max-semi-space-size=8'];
/** The code is bundled, as a deployment bundles it. */
const folder = mkdtempSync(join(tmpdir(), 'lane-'));
const bundle = join(folder, 'lane.mjs');
bundleEntry(new URL('./lane-process.ts', import.meta.url).pathname, bundle, FOR_LAMBDA);
const lane = fork(bundle, [JSON.stringify({ event, minutes: Number(values.minutes) })], {
  execArgv: flags,
  env: {
    ...process.env,
    ...ready.environment,
    POWERTOOLS_METRICS_DISABLED: 'true',
    LOG_LEVEL: 'SILENT',
  },
});
let before: WorldCounts = { requestCount: 0, refusedCount: 0, calls: {} };
lane.on('message', (figures: object) => void show(figures));
await once(lane, 'exit');
world.kill();
rmSync(folder, { recursive: true });

async function ask(child: ChildProcess): Promise<WorldCounts> {
  child.send('counts');
  const [counts] = (await once(child, 'message')) as [WorldCounts];
  return counts;
}

async function show(figures: object): Promise<void> {
  const counts = await ask(world);
  const calls = Object.fromEntries(
    Object.entries(counts.calls).map(([name, count]) => [name, count - (before.calls[name] ?? 0)]),
  );
  console.log(
    JSON.stringify({
      ...figures,
      requests: counts.requestCount - before.requestCount,
      refused: counts.refusedCount - before.refusedCount,
      calls,
      load: Number(loadavg()[0]?.toFixed(1)),
    }),
  );
  before = counts;
}
