/**
 * `node test/bench/lanes/measure-lane.ts` measures one lane as a real process: the production handler polls 100
 * accounts of 10 projects over HTTP, against a simulated service and the local AWS in another process. It prints
 * processor time and memory, minute by minute.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    accounts: { type: 'string', default: '100' },
    projects: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '4' },
    sessions: { type: 'string', default: '1' },
    settings: { type: 'string', default: '{}' },
    prof: { type: 'boolean', default: false },
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
const flags = ['--max-old-space-size=120', '--max-semi-space-size=8'];
const lane = fork(
  new URL('./lane-process.ts', import.meta.url),
  [JSON.stringify({ event, minutes: Number(values.minutes) })],
  {
    execArgv: [...flags, ...(values.prof ? ['--cpu-prof', '--cpu-prof-dir=/tmp/lane-prof'] : [])],
    env: {
      ...process.env,
      ...ready.environment,
      POWERTOOLS_METRICS_DISABLED: 'true',
      LOG_LEVEL: 'SILENT',
    },
  },
);
let before: WorldCounts = { requestCount: 0, refusedCount: 0, calls: {} };
lane.on('message', async (figures: object) => {
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
    }),
  );
  before = counts;
});
await once(lane, 'exit');
world.kill();

async function ask(child: ChildProcess): Promise<WorldCounts> {
  child.send('counts');
  const [counts] = (await once(child, 'message')) as [WorldCounts];
  return counts;
}
