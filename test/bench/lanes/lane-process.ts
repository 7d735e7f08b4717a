/** Runs the production handler of the poller with one lane, in a process that nothing else shares, and reports its use. */

import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { createPollerHandler } from '../../../functions/poller/create-handler.ts';
import { pollerEnvironment, pollerSchedule } from '../../../shared/config/poller-config.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';

const { event, minutes } = JSON.parse(process.argv[2] ?? '{}') as { event: unknown; minutes: number };
const environment = pollerEnvironment.parse({ TABLE_NAME: 'lane-bench', EVENT_BUS_NAME: 'lane-bench' });
const handler = createPollerHandler(environment, {
  clock: systemClock,
  random: systemRandom,
  newId: randomUUID,
  monotonicMs: () => performance.now(),
});

const session = new Session();
session.connect();
let usage = process.cpuUsage();
for (let minute = 0; minute < minutes; minute++) {
  if (minute === minutes - 1 && process.env['LANE_PROF'])
    await session.post('Profiler.enable').then(() => session.post('Profiler.start'));
  const startedMs = Date.now();
  const deadlineMs = startedMs + pollerSchedule.timeoutMs;
  const report = await handler(event, { getRemainingTimeInMillis: () => deadlineMs - Date.now() });
  const endedMs = Date.now();
  const used = process.cpuUsage(usage);
  usage = process.cpuUsage();
  process.send?.({
    minute,
    cpuS: (used.user + used.system) / 1e6,
    rssMb: process.memoryUsage.rss() / 2 ** 20,
    heapMb: process.memoryUsage().heapUsed / 2 ** 20,
    ms: endedMs - startedMs,
    report,
  });
  await systemClock.sleep(Math.max(0, startedMs + pollerSchedule.everyMs - Date.now()));
}
if (process.env['LANE_PROF'])
  writeFileSync(process.env['LANE_PROF'], JSON.stringify((await session.post('Profiler.stop')).profile));
process.exit(0);
