import { describe, expect, test } from 'vitest';
import {
  POLLS_END_MS,
  RELEASE_MS,
  REPORT_MS,
  release,
  reportAtEnd,
  untilLoopsEnd,
} from '../../../functions/poller/account/wind-up.ts';
import { anInvocation } from './invocation-under-test.ts';

describe('the end of an invocation', () => {
  /** Sets up an invocation with a clock whose sleeps the test ends. */
  function slowly() {
    const world = anInvocation();
    const waiting: { readonly durationMs: number; readonly end: () => void }[] = [];
    Object.assign(world.deps.clock, {
      sleep: (durationMs: number, signal?: AbortSignal) =>
        new Promise<void>((resolve, reject) => {
          waiting.push({ durationMs, end: resolve });
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
        }),
    });
    return { ...world, waiting };
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test('waits for its loops, and logs nothing when they end in time', async () => {
    const { deps, stop, logs, measures } = slowly();
    const loop = Promise.withResolvers<void>();
    let hasEnded = false;
    const ended = untilLoopsEnd(deps, [loop.promise]).then(() => {
      hasEnded = true;
    });
    await settle();
    expect(hasEnded).toBe(false);
    stop.abort();
    await settle();
    expect(hasEnded).toBe(false);
    loop.resolve();
    await ended;

    expect([logs, measures]).toEqual([[], []]);
  });

  test('does not wait for a loop beyond its time, and measures that for the alarm', async () => {
    const { deps, stop, waiting, logs, measures } = slowly();
    stop.abort();
    const ended = untilLoopsEnd(deps, [new Promise(() => {})]);
    await settle();
    expect(waiting.map(({ durationMs }) => durationMs)).toEqual([POLLS_END_MS]);
    waiting[0]?.end();
    await ended;

    expect(logs).toEqual([
      { level: 'warn', event: 'invocation.cut_short', part: 'polls', waited_ms: POLLS_END_MS },
    ]);
    expect(measures).toEqual([['InvocationsCutShort', 1]]);
  });

  test('fails as the first loop that failed, after all have ended', async () => {
    const { deps, stop } = slowly();
    stop.abort();
    const other = Promise.withResolvers<void>();
    const ended = untilLoopsEnd(deps, [Promise.reject(new TypeError('a mistake')), other.promise]);
    other.resolve();

    await expect(ended).rejects.toThrow('a mistake');
  });

  test('reports side by side, and a report that fails holds up no other', async () => {
    const { deps, logs } = slowly();
    const done: string[] = [];
    await reportAtEnd(deps, {
      health: () => Promise.reject(new RangeError('busy')),
      status: async () => void done.push('status'),
    });

    expect(done).toEqual(['status']);
    expect(logs).toEqual([
      { level: 'error', event: 'invocation.report_failed', part: 'health', reason: 'RangeError' },
    ]);
  });

  test('does not wait for a report beyond its time', async () => {
    const { deps, waiting, logs } = slowly();
    const ended = reportAtEnd(deps, { health: () => new Promise(() => {}) });
    await settle();
    waiting[0]?.end();
    await ended;

    expect(logs).toMatchObject([{ event: 'invocation.cut_short', part: 'report', waited_ms: REPORT_MS }]);
  });

  test('gives the lease back, and goes on without when that fails or takes long', async () => {
    const { deps, logs, waiting } = slowly();
    let count = 0;
    Object.assign(deps.lease, {
      release: async () => {
        count += 1;
      },
    });
    await release(deps);
    expect([count, logs]).toEqual([1, []]);
    Object.assign(deps.lease, { release: () => Promise.reject(new RangeError('busy')) });
    await release(deps);
    expect(logs).toEqual([{ level: 'warn', event: 'lease.not_released', reason: 'RangeError' }]);
    Object.assign(deps.lease, { release: () => new Promise(() => {}) });
    const ended = release(deps);
    await settle();
    waiting.at(-1)?.end();
    await ended;

    expect(logs.at(-1)).toMatchObject({
      event: 'invocation.cut_short',
      part: 'lease',
      waited_ms: RELEASE_MS,
    });
  });
});
