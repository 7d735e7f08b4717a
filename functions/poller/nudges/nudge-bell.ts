/**
 * Lets the loops of an account wait until another process has left work for it, instead of looking in the table again
 * and again. The bell is rung for the account from outside; the account does not know who rings.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';

export interface NudgeBell {
  /** Another process has left work for the account. */
  ring(): void;
  /** Creates what one loop waits with. Each loop hears every ring once. */
  listen(): Pause;
}

/** Resolves after `durationMs`, and earlier when there is something to look for. It never rejects. */
type Pause = (durationMs: number, signal: AbortSignal) => Promise<void>;

/**
 * After a ring the loops look again every second for this long: an index may lag behind the item that was written, and a
 * process that writes several items rings for the first one.
 */
const NUDGED_MS = 4_000;
const NUDGED_LOOK_MS = 1_000;

export function createNudgeBell(clock: Clock): NudgeBell {
  let ringCount = 0;
  let rungAtMs = Number.NEGATIVE_INFINITY;
  let next = Promise.withResolvers<void>();
  return {
    ring() {
      ringCount += 1;
      rungAtMs = clock.now();
      next.resolve();
      next = Promise.withResolvers();
    },
    listen() {
      let heardCount = ringCount;
      return async (durationMs, signal) => {
        if (heardCount === ringCount) {
          const isNudged = clock.now() - rungAtMs < NUDGED_MS;
          const waitMs = isNudged ? Math.min(durationMs, NUDGED_LOOK_MS) : durationMs;
          await sleepOrRing(clock, waitMs, { rung: next.promise, signal });
        }
        heardCount = ringCount;
      };
    },
  };
}

async function sleepOrRing(
  clock: Clock,
  durationMs: number,
  { rung, signal }: { readonly rung: Promise<void>; readonly signal: AbortSignal },
): Promise<void> {
  const done = new AbortController();
  const onAbort = () => done.abort(OVER);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  await Promise.race([clock.sleep(durationMs, done.signal).catch(() => {}), rung]);
  signal.removeEventListener('abort', onAbort);
  done.abort(OVER);
}

/** A reason of one's own would record its stack at the end of every wait. */
const OVER = new Error('The wait is over');

/** Returns what a loop waits with: `lookMs` passes between two looks without a bell, and `restMs` with one. */
export function pauseOf(
  bell: NudgeBell | undefined,
  clock: Clock,
  { lookMs, restMs }: { readonly lookMs: number; readonly restMs: number },
): (signal: AbortSignal) => Promise<void> {
  if (bell === undefined) return (signal) => clock.sleep(lookMs, signal).catch(() => {});
  const pause = bell.listen();
  return (signal) => pause(restMs, signal);
}
