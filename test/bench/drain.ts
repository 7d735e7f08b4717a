/**
 * `npm run bench -- drain` (`--events N` for another backlog than 100,000) measures how fast the backlog of an outage
 * of the bus drains, which share of its rate polling keeps meanwhile, and what an event costs of a processor. The
 * first two run the whole production poller on virtual time; the last one is measured in real time.
 */

import { parseArgs } from 'node:util';
import { aSlowAccount } from '../poller/slow-account.ts';
import { cpuMsPerEvent } from './drain-cpu.ts';

const { values } = parseArgs({ options: { events: { type: 'string', default: '100000' } } });
const BACKLOG = Number(values.events);
const ACCOUNT = { seed: 1, projectCount: 500, operationCount: 2_000, tableMs: 25, busMs: 25 } as const;

/**
 * A function with 256 MB of memory has a seventh of a core: 1,769 MB give a whole one (AWS Lambda Developer Guide,
 * "Memory").
 */
const CORE_SHARE = 256 / 1_769;

/** The backlog must drain in fewer minutes than this. */
const MINUTES_MAX = 34;

async function drain(): Promise<{
  readonly minutes: number;
  readonly pollCount: number;
  readonly copies: number;
}> {
  const account = aSlowAccount({ ...ACCOUNT, minutes: MINUTES_MAX });
  await account.leaveUnsent(BACKLOG);
  let minutes = 0;
  // New events arrive all the time, so the backlog counts as drained when at most 50 are unpublished.
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
