/** `npm run upstream`: the simulated service alone, for any client. */

import { parseArgs } from 'node:util';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { runCommand } from '../command.ts';
import { parseDuration, parseInteger, parsePort, parseSpeed } from '../option-values.ts';
import { scaledClock } from '../scaled-clock.ts';
import { startUpstream } from './start-upstream.ts';

const HELP = `npm run upstream -- [options]   the simulated service, alone
  --port P       port on 127.0.0.1 (default: any free one)
  --api-key K    the key it accepts (default: made from the seed)
  --seed S       decides everything that happens (default 1)
  --projects N   projects at the start (default 25)
  --speed X      its time runs X times as fast (default 1)
  --for D        stop after 90s, 5m, 2h (default: until Ctrl-C)`;

const REPORT_EVERY_MS = 60_000;

await runCommand(async (signal) => {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'api-key': { type: 'string' },
      seed: { type: 'string', default: '1' },
      projects: { type: 'string', default: '25' },
      speed: { type: 'string', default: '1' },
      for: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const seed = parseInteger('seed', values.seed, { min: 0, max: 2 ** 31 });
  const clock = scaledClock(parseSpeed(values.speed), systemClock.now());
  const apiKey = values['api-key'] ?? `simulated-key-${seed}`;
  const forMs = values.for === undefined ? undefined : parseDuration('for', values.for);
  const upstream = await startUpstream({
    port: parsePort('port', values.port),
    seed,
    projectCount: parseInteger('projects', values.projects, { min: 1, max: 5_000 }),
    apiKeys: [apiKey],
    clock,
  });
  console.log(`Simulated service, seed ${seed}`);
  console.log(`  base URL  ${upstream.baseUrl}`);
  console.log(`  key       ${apiKey}`);
  console.log(`  try       curl -H "authorization: Bearer ${apiKey}" ${upstream.baseUrl}/projects`);
  const deadline = forMs === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(forMs)]);
  const count = () => upstream.world().groundTruth();
  while (!deadline.aborted) {
    await systemClock.sleep(REPORT_EVERY_MS, deadline).catch(() => {});
    const operations = count();
    const openCount = operations.filter(({ states }) => isOpen(states.at(-1)?.status)).length;
    const time = new Date(clock.now()).toISOString().slice(11, 19);
    console.log(`${time}  ${operations.length} operations so far, ${openCount} open`);
  }
  await upstream.close();
});

function isOpen(status: string | undefined): boolean {
  return !['finished', 'skipped', 'cancelled', 'error'].includes(status ?? '');
}
