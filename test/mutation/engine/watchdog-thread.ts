/** The thread of the watchdog: it looks at the running attempt four times a second. */

import { workerData } from 'node:worker_threads';
import { append } from './journal.ts';
import type { WatchedBy } from './watchdog.ts';

const LOOK_EVERY_MS = 250;

const { shared, journalFile, silentMs } = workerData as WatchedBy;
const state = new Int32Array(shared);
const parent = process.ppid;
let attempt = -1;
let beganMs = 0;
let cpuAtBeginMs = 0;

setInterval(() => {
  // Nothing is left to do for a process whose parent has ended.
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  const [current, mutantId, cpuLimitMs] = [0, 1, 2].map((place) => Atomics.load(state, place)) as Numbers;
  if (current !== attempt) [attempt, beganMs, cpuAtBeginMs] = [current, performance.now(), cpuMs()];
  if (mutantId === -1) return;
  const isBusyForEver = cpuMs() - cpuAtBeginMs > cpuLimitMs;
  const isSilent = performance.now() - beganMs > silentMs;
  if (!isBusyForEver && !isSilent) return;
  const why = isBusyForEver ? 'the tests do not end' : 'the tests wait for ever';
  append(journalFile, { step: 'decided', id: String(mutantId), verdict: 'Timeout', why });
  process.kill(process.pid, 'SIGKILL');
}, LOOK_EVERY_MS);

type Numbers = [number, number, number];

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
