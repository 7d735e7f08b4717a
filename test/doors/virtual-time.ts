/**
 * Runs real clients and servers of one process on virtual time: every timer of JavaScript is virtual, and time passes only while no
 * request of HTTP is on its way. A test of time-outs and pauses therefore does not depend on how fast the machine is.
 */

import { type ChannelListener, subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { onTestFinished, vi } from 'vitest';
import { seededRandom } from '../../shared/runtime/random.ts';

export interface VirtualTime {
  now(): number;
  /** Lets time pass until the task has settled. */
  run<T>(task: Promise<T>): Promise<T>;
  /** Lets this much time pass. */
  pass(durationMs: number): Promise<void>;
  /** A server calls this when it holds a request back until a later time, and calls what it returns when it goes on. */
  hold(): () => void;
}

/** After an answer, its reader goes on within this many turns of the event loop. */
const QUIET_TURNS = 6;

/** The real time of the test ends when it does. */
export function startVirtualTime(startMs: number): VirtualTime {
  vi.useFakeTimers({
    now: startMs,
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'],
  });
  // A timer of Node takes a millisecond at least. Without that, a wait for a part of one would never end.
  const setVirtualTimeout = globalThis.setTimeout;
  globalThis.setTimeout = ((task: () => void, durationMs = 1) =>
    setVirtualTimeout(task, Math.max(1, Math.ceil(durationMs)))) as typeof setTimeout;
  // The clients of AWS draw their pauses from it.
  const dice = seededRandom(startMs);
  const random = vi.spyOn(Math, 'random').mockImplementation(() => dice.next());
  const underWay = watchRequests();
  let heldCount = 0;
  onTestFinished(() => {
    underWay.stop();
    random.mockRestore();
    vi.useRealTimers();
  });

  const quiet = async () => {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (underWay.count() > heldCount) turns = -1;
    }
  };
  return {
    now: () => Date.now(),
    async run(task) {
      let isSettled = false;
      const settle = () => {
        isSettled = true;
      };
      task.then(settle, settle);
      for (;;) {
        await quiet();
        if (isSettled) return task;
        // Without a timer the task waits for real work, such as a module that is loaded on demand.
        if (vi.getTimerCount() > 0) await vi.advanceTimersToNextTimerAsync();
      }
    },
    async pass(durationMs) {
      await this.run(new Promise((resolve) => setTimeout(resolve, durationMs)));
    },
    hold() {
      heldCount += 1;
      let isHeld = true;
      return () => {
        if (isHeld) heldCount -= 1;
        isHeld = false;
      };
    },
  };
}

/** Counts the requests of this process that were sent and whose answers were not read to their end. */
function watchRequests() {
  const open = new Set<ClientRequest>();
  const began: ChannelListener = (message) => {
    const { request } = message as { request: ClientRequest };
    open.add(request);
    request.once('close', () => open.delete(request));
  };
  const answered: ChannelListener = (message) => {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    response.once('close', () => open.delete(request));
  };
  subscribe('http.client.request.start', began);
  subscribe('http.client.response.finish', answered);
  return {
    count: () => open.size,
    stop() {
      unsubscribe('http.client.request.start', began);
      unsubscribe('http.client.response.finish', answered);
    },
  };
}
