/**
 * Ends this process when a mutant keeps it busy for ever. It is a thread of its own, because an endless loop leaves no time to
 * any timer of the thread that runs it.
 */

import { Worker } from 'node:worker_threads';
import type { Plan } from './plan.ts';

/** A mutant may make tests this much slower, which is still not for ever. */
const SLOWER_FACTOR = 20;

/** An attempt that neither ends nor works waits for what never comes; every test has its own, much shorter, limit. */
const SILENT_MS = 150_000;

export interface Watchdog {
  /** An attempt with this mutant begins; its tests take `usualMs` without it. */
  begin(mutantId: string, usualMs: number): void;
  end(): void;
}

export interface WatchedBy {
  /** Holds the number of the attempt, the id of its mutant (-1 when none is attempted) and its limit in milliseconds. */
  readonly shared: SharedArrayBuffer;
  readonly journalFile: string;
  readonly silentMs: number;
}

/** The time of a processor is measured, not the time of the clock, so that a busy machine ends no attempt. */
export function startWatchdog({
  journalFile,
  patienceMs,
}: Pick<Plan, 'journalFile' | 'patienceMs'>): Watchdog {
  const shared = new SharedArrayBuffer(12);
  const state = new Int32Array(shared);
  Atomics.store(state, 1, -1);
  const workerData: WatchedBy = { shared, journalFile, silentMs: SILENT_MS };
  new Worker(new URL('watchdog-thread.ts', import.meta.url), { workerData, execArgv: [] }).unref();
  return {
    begin(mutantId, usualMs) {
      Atomics.store(state, 1, Number(mutantId));
      Atomics.store(state, 2, Math.ceil(patienceMs + SLOWER_FACTOR * usualMs));
      Atomics.add(state, 0, 1);
    },
    end() {
      Atomics.store(state, 1, -1);
    },
  };
}
