import { describe, expect, test } from 'vitest';
import { waitForLease } from '../../../../functions/poller/account/lease.ts';
import { only } from '../../../builders.ts';
import { anInvocation } from '../invocation-under-test.ts';

/** A lease that another process holds until it was asked for `freeAt` times. */
function setUp(freeAt: number) {
  const { deps, stop, sleeps } = anInvocation();
  const asked: number[] = [];
  const acquire = async (durationMs: number) => {
    asked.push(durationMs);
    return asked.length >= freeAt;
  };
  const wait = () => waitForLease({ ...deps, lease: only({ acquire }) }, 61_000);
  return { wait, stop, sleeps, asked };
}

describe('the lease', () => {
  test('is asked for once when it is free, for as long as it is needed', async () => {
    const { wait, sleeps, asked } = setUp(1);

    expect(await wait()).toBe(true);
    expect([asked, sleeps]).toEqual([[61_000], []]);
  });

  test('is waited for while the invocation before ends, with looks that come less often up to once a second, because each is two calls', async () => {
    const { wait, sleeps } = setUp(4);

    expect(await wait()).toBe(true);
    expect(sleeps).toEqual([250, 500, 1_000]);
  });

  test('is given up after five seconds', async () => {
    const { wait, sleeps, asked } = setUp(Number.POSITIVE_INFINITY);

    expect(await wait()).toBe(false);
    expect([sleeps.length, asked.length]).toEqual([7, 8]);
  });

  test('is given up when the invocation stops', async () => {
    const { wait, stop, sleeps } = setUp(Number.POSITIVE_INFINITY);
    stop.abort();

    expect(await wait()).toBe(false);
    expect(sleeps).toEqual([]);
  });
});
