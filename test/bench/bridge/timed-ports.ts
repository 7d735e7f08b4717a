/** Lets calls of the upstream, the table and the bus, and the work of the processor, take virtual time. */

import type { EventBus } from '../../../shared/events/event-bus.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import type { Table } from '../../../shared/store/table.ts';
import { logNormal } from '../world/distributions.ts';
import { type Delays, upstreamSigma } from '../world/world.ts';

/** Returns a function that draws how long a call of the upstream takes, there and back, in milliseconds. */
export function upstreamDurations(delays: Delays, random: Random): () => number {
  const sigma = upstreamSigma(delays);
  return () => logNormal([delays.upstreamMsMedian, sigma], random);
}

/** Does one piece of work after the other. */
export interface Processor {
  /** Resolves when this work and all that was asked for before it are done. */
  work(durationMs: number): Promise<void>;
}

export function createProcessor(clock: Clock): Processor {
  let freeAtMs = 0;
  return {
    work(durationMs) {
      freeAtMs = Math.max(freeAtMs, clock.now()) + durationMs;
      return clock.sleep(freeAtMs - clock.now());
    },
  };
}

/** The upstream looks at its state when half of the time has passed. Handling the answer takes the processor. */
export function timedFetch(
  fetchNow: typeof fetch,
  clock: Clock,
  durationMs: () => number,
  afterAnswer: () => Promise<void>,
): typeof fetch {
  return async (input, init) => {
    const signal = init?.signal ?? undefined;
    const halfMs = durationMs() / 2;
    await clock.sleep(halfMs, signal);
    const answer = await fetchNow(input, init);
    await clock.sleep(halfMs, signal);
    await afterAnswer();
    return answer;
  };
}

export function timedTable(table: Table, clock: Clock, callMs: number): Table {
  const later = async <T>(call: () => Promise<T>): Promise<T> => {
    await clock.sleep(callMs);
    return call();
  };
  return {
    get: (key) => later(() => table.get(key)),
    getMany: (keys) => later(() => table.getMany(keys)),
    queryWork: (query) => later(() => table.queryWork(query)),
    queryWorkPage: (query) => later(() => table.queryWorkPage(query)),
    update: (update) => later(() => table.update(update)),
  };
}

export function timedBus(bus: EventBus, clock: Clock, callMs: number): EventBus {
  return {
    publish: async (events) => {
      await clock.sleep(callMs);
      return bus.publish(events);
    },
  };
}
