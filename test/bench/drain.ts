/**
 * `npm run bench:drain` (`-- --events N` for another backlog than 100,000): how fast a backlog of an outage of the bus drains, what polling keeps of its rate meanwhile (both on
 * virtual time, by the whole production poller), and what an event costs of a processor (really measured).
 */

import { parseArgs } from 'node:util';
import { aSlowAccount } from '../poller/slow-account.ts';
import { cpuMsPerEvent } from './drain-cpu.ts';

const { values } = parseArgs({ options: { events: { type: 'string', default: '100000' } } });
const BACKLOG = Number(values.events);
const ACCOUNT = { seed: 1, projectCount: 500, operationCount: 2_000, tableMs: 25, busMs: 25 } as const;

/** 256 MB of Lambda have a seventh of a core: 1,769 MB have a whole one (AWS Lambda Developer Guide, "Memory"). */
const CORE_SHARE = 256 / 1_769;

/** More than a backlog of this size may take. */
const MINUTES_MAX = 34;

async function drain(): Promise<{
  readonly minutes: number;
  readonly pollCount: number;
  readonly copies: number;
}> {
  const account = aSlowAccount({ ...ACCOUNT, minutes: MINUTES_MAX });
  await account.leaveUnsent(BACKLOG);
  let minutes = 0;
  // New events come and go all the time; what is left of the outage is gone when hardly any is unpublished.
  while (account.unsentCount() > 50 && minutes < MINUTES_MAX) {
    await account.run(1);
    minutes += 1;
    process.stderr.write(`minute ${minutes}: ${account.unsentCount()} unpublished\n`);
  }
  return { minutes, pollCount: account.counts.pollCount, copies: account.copyCount() };
}

async function usualPollCount(minutes: number): Promise<number> {
  const account = aSlowAccount({ ...ACCOUNT, minutes: MINUTES_MAX });
  await account.run(minutes);
  return account.counts.pollCount;
}

const { minutes, pollCount, copies } = await drain();
const pollShare = pollCount / (await usualPollCount(minutes));
const eventsPerSecond = BACKLOG / (minutes * 60);
const cpuMs = await cpuMsPerEvent();
const cpuShare = (eventsPerSecond * cpuMs) / 1_000 / CORE_SHARE;
console.log(
  JSON.stringify({
    backlog: BACKLOG,
    minutes,
    events_per_second: Number(eventsPerSecond.toFixed(1)),
    polls_of_usual: Number(pollShare.toFixed(3)),
    copies,
    cpu_ms_per_event: Number(cpuMs.toFixed(3)),
    share_of_the_cpu_of_256_mb: Number(cpuShare.toFixed(2)),
  }),
);
if (eventsPerSecond < 50 || pollShare < 0.8 || cpuShare > 1) process.exitCode = 1;
