/**
 * Makes a clock that stands still while the program waits for an answer, and goes on to the next sleeper as soon as the program has
 * nothing else to do. So a scenario that waits for hours takes milliseconds, and its waits do not depend on the machine.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '../../../shared/runtime/clock.ts';

export interface StandingClock extends Clock, Disposable {
  /** The server leaves a request open. Time goes on until the result is called, or the program gives the request up. */
  leaveOpen(): () => void;
}

/** The event loop turns this often between the end of an answer and the next step of the program. */
const TURNS_UNTIL_IDLE = 4;

/** A program that sleeps more often has lost its way. */
const SLEEPS_MAX = 5_000;

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Node tells by these channels of each request of `fetch`, and of its end. */
interface RequestMessage {
  readonly request: { readonly origin: string | URL };
}

/** Only requests to this origin make the clock stand still. */
export function createStandingClock(startMs: number, origin: string): StandingClock {
  const sleepers = new Set<Sleeper>();
  const underWay = new Set<object>();
  const leftOpen = new Set<object>();
  let nowMs = startMs;
  let sleepCount = 0;
  let isGoingOn = false;

  const goOn = async () => {
    if (isGoingOn) return;
    isGoingOn = true;
    for (;;) {
      for (let count = 0; count < TURNS_UNTIL_IDLE; count++) await turn();
      const [next] = [...sleepers].toSorted((a, b) => a.untilMs - b.untilMs);
      if (next === undefined || underWay.size > leftOpen.size) break;
      sleepers.delete(next);
      nowMs = Math.max(nowMs, next.untilMs);
      next.wake();
    }
    isGoingOn = false;
  };
  const began = (message: unknown) => {
    const { request } = message as RequestMessage;
    if (String(request.origin) === origin) underWay.add(request);
  };
  const ended = (message: unknown) => {
    if (!underWay.delete((message as RequestMessage).request)) return;
    if (underWay.size === 0) leftOpen.clear();
    void goOn();
  };
  const channels = [
    ['undici:request:create', began],
    ['undici:request:trailers', ended],
    ['undici:request:error', ended],
  ] as const;
  for (const [name, listener] of channels) subscribe(name, listener);

  return {
    now: () => nowMs,
    sleep: (durationMs, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        if (++sleepCount > SLEEPS_MAX) return reject(new Error('the program sleeps again and again'));
        const sleeper = { untilMs: nowMs + durationMs, wake: resolve };
        sleepers.add(sleeper);
        const onAbort = () => {
          sleepers.delete(sleeper);
          reject(signal?.reason);
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        void goOn();
      }),
    leaveOpen() {
      const mark = {};
      leftOpen.add(mark);
      void goOn();
      return () => void leftOpen.delete(mark);
    },
    [Symbol.dispose]() {
      for (const [name, listener] of channels) unsubscribe(name, listener);
    },
  };
}
