/**
 * The end of an invocation, in bounded time: between the stop signal and the time-out that would kill it, the polls under way
 * end, the account's health is published, and the status is written. Whatever takes longer is not waited for.
 */

import { toError } from '../../../shared/runtime/errors.ts';
import type { MetricName } from '../../../shared/runtime/metric-names.ts';
import { POLLS_END_MS, RELEASE_MS, REPORT_MS } from './limits.ts';
import type { Run } from './run.ts';

/** Resolves when the loops have ended, at the latest a while after the stop signal. Rejects as the first loop that failed. */
export async function untilLoopsEnd(run: Run, loops: readonly Promise<void>[]): Promise<void> {
  const ended = Promise.allSettled(loops);
  await stopped(run);
  const results = await atMost(run, 'polls', POLLS_END_MS, ended);
  const failed = results?.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Side by side; a failure of one is logged and keeps nobody else from ending. */
export async function reportAtEnd(
  run: Run,
  tasks: Readonly<Record<string, () => Promise<void>>>,
): Promise<void> {
  const guarded = Object.entries(tasks).map(async ([name, task]) => {
    try {
      await task();
    } catch (error) {
      run.deps.telemetry.log('error', 'invocation.report_failed', {
        part: name,
        reason: toError(error).name,
      });
    }
  });
  await atMost(run, 'report', REPORT_MS, Promise.all(guarded));
}

/** Nobody relies on it: the lease ends by itself when the polling should have. */
export async function release(run: Run): Promise<void> {
  const released = run.deps.lease.release().catch((error: unknown) => {
    run.deps.telemetry.log('warn', 'lease.not_released', { reason: toError(error).name });
  });
  await atMost(run, 'lease', RELEASE_MS, released);
}

const CUT_SHORT: MetricName = 'InvocationsCutShort';

/** Undefined: it took longer, and is not waited for any more. What it still writes is compared with what is stored, as ever. */
async function atMost<T>(
  run: Run,
  part: string,
  durationMs: number,
  task: Promise<T>,
): Promise<T | undefined> {
  const { clock, telemetry } = run.deps;
  const done = new AbortController();
  const timeout = clock.sleep(durationMs, done.signal).then(
    () => 'late' as const,
    () => undefined,
  );
  const first = await Promise.race([task, timeout]);
  done.abort();
  if (first !== 'late') return first;
  telemetry.log('warn', 'invocation.cut_short', { part, waited_ms: durationMs });
  telemetry.measure(CUT_SHORT, 1);
  return undefined;
}

function stopped({ stop }: Run): Promise<void> {
  if (stop.signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
