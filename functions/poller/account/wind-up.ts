/**
 * Ends an invocation in bounded time. Between the stop signal and the time-out that would kill it, the polls under
 * way end, the account's health is published, and the status is written. Nothing that takes longer is waited for.
 */

import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { FigureName, Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { Lease } from './account-deps.ts';

/**
 * The polls end within this time after the stop signal. They begin no page, no row and no call of the bus but those
 * of their last relay. The longest chain of calls that is left to a poll: a write that is under way and its
 * repetition (2 calls of the table), the progress of the walk (2), a command (2), a call of the bus, its
 * acknowledgement and what a newer entry makes of that (2). With 200 ms a call of the table and a second for the bus
 * this takes 2.6 s.
 */
export const POLLS_END_MS = 3_000;

/**
 * The account's health takes two calls of the table, one of the bus and two of the table. The status takes four calls
 * beside it.
 */
export const REPORT_MS = 2_500;

/** The release of the lease is one write, on which nothing depends. */
export const RELEASE_MS = 500;

/** It takes this long to write the metrics out and to hand the answer over. */
const FLUSH_MS = 500;

/**
 * The stop signal comes this long before the time-out that kills the function. Polling ends half a second before the
 * next minute begins. The next invocation waits for work that ends later than that.
 */
export const STOP_RESERVE_MS = POLLS_END_MS + REPORT_MS + RELEASE_MS + FLUSH_MS;

export interface WindUpDeps {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

/**
 * Resolves when the loops have ended, and `POLLS_END_MS` after the stop signal at the latest. Rejects as the first
 * loop that failed.
 */
export async function untilLoopsEnd(
  deps: WindUpDeps & { readonly signal: AbortSignal },
  loops: readonly Promise<void>[],
): Promise<void> {
  const ended = Promise.allSettled(loops);
  await stopped(deps.signal);
  const results = await atMost(deps, 'polls', POLLS_END_MS, ended);
  const failed = results?.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Runs the tasks side by side. A failure of one is logged and keeps no other from ending. */
export async function reportAtEnd(
  deps: WindUpDeps,
  tasks: Readonly<Record<string, () => Promise<void>>>,
): Promise<void> {
  const guarded = Object.entries(tasks).map(async ([name, task]) => {
    try {
      await task();
    } catch (error) {
      const reason = toError(error).name;
      deps.telemetry.log('error', 'invocation.report_failed', { part: name, reason });
    }
  });
  await atMost(deps, 'report', REPORT_MS, Promise.all(guarded));
}

/** Nothing relies on the release: the lease ends by itself when the polling should have. */
export async function release(deps: WindUpDeps & { readonly lease: Lease }): Promise<void> {
  const released = deps.lease.release().catch((error: unknown) => {
    deps.telemetry.log('warn', 'lease.not_released', { reason: toError(error).name });
  });
  await atMost(deps, 'lease', RELEASE_MS, released);
}

const CUT_SHORT: FigureName = 'InvocationsCutShort';

/** An abort without a reason makes an error with its stack each time. */
const DONE = new Error('The task has ended');

/**
 * Resolves to undefined when the task took longer, and then it is not waited for any more. What it still writes is
 * compared with what is stored, as always.
 */
export async function atMost<T>(
  { clock, telemetry }: WindUpDeps,
  part: string,
  durationMs: number,
  task: Promise<T>,
): Promise<T | undefined> {
  const done = new AbortController();
  const timeout = clock.sleep(durationMs, done.signal).then(
    () => 'late' as const,
    () => undefined,
  );
  const first = await Promise.race([task, timeout]);
  done.abort(DONE);
  if (first !== 'late') return first;
  telemetry.log('warn', 'invocation.cut_short', { part, waited_ms: durationMs });
  telemetry.measure(CUT_SHORT, 1);
  return undefined;
}

function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
