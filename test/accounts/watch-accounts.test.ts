import { describe, expect, test } from 'vitest';
import type { AccountItem } from '../../shared/accounts/account.ts';
import { LOOK_MS, watchAccounts } from '../../shared/accounts/account-store.ts';
import { aClock, aTelemetry, NOON_MS } from '../builders.ts';
import { anAccountItem } from './an-account.ts';

/** A reader whose answers and faults the test sets, and which counts its reads. */
function aReader() {
  const stored: { items: readonly AccountItem[]; stamp: string | undefined; isDown: boolean } = {
    items: [],
    stamp: undefined,
    isDown: false,
  };
  const reads = { list: 0, stamp: 0 };
  const answer = async <T>(kind: keyof typeof reads, value: () => T): Promise<T> => {
    reads[kind] += 1;
    if (stored.isDown) throw new Error('The table is down');
    return value();
  };
  const reader = {
    list: () => answer('list', () => stored.items),
    stamp: () => answer('stamp', () => stored.stamp),
  };
  return { stored, reads, reader };
}

function underWatch() {
  const { stored, reads, reader } = aReader();
  const lines: unknown[][] = [];
  let nowMs = NOON_MS;
  const log = (...line: readonly unknown[]) => void lines.push([...line]);
  const watch = watchAccounts(
    reader,
    aClock(() => nowMs),
    aTelemetry({ log }),
  );
  const wait = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { stored, reads, watch, lines, wait };
}

describe('the watch over accounts', () => {
  test('reads the table once for all who ask within the same seconds', async () => {
    const { watch, reads, wait } = underWatch();

    await Promise.all([watch.items(), watch.items()]);
    wait(LOOK_MS - 1);
    await watch.items();

    expect(reads).toEqual({ stamp: 1, list: 1 });
  });

  test('reads the stamp alone while nothing changes', async () => {
    const { watch, reads, wait } = underWatch();

    await watch.items();
    for (let look = 0; look < 10; look++) {
      wait(LOOK_MS);
      await watch.items();
    }

    expect(reads).toEqual({ stamp: 11, list: 1 });
  });

  test('shows a change at the next look', async () => {
    const { watch, stored, wait } = underWatch();
    await watch.items();

    stored.items = [anAccountItem()];
    stored.stamp = 'another';
    wait(LOOK_MS);

    expect(await watch.items()).toEqual([anAccountItem()]);
  });

  test('shows at once what its own process has changed', async () => {
    const { watch, stored } = underWatch();
    await watch.items();

    stored.items = [anAccountItem()];
    stored.stamp = 'another';
    watch.forget();

    expect(await watch.items()).toEqual([anAccountItem()]);
  });

  test('shows a change whose stamp was lost, within ten minutes', async () => {
    const { watch, stored, wait } = underWatch();
    await watch.items();

    stored.items = [anAccountItem()];
    wait(600_000);

    expect(await watch.items()).toEqual([anAccountItem()]);
  });

  test('keeps what it knows while the table is down, and asks again after some seconds only', async () => {
    const { watch, stored, reads, lines, wait } = underWatch();
    stored.items = [anAccountItem()];
    await watch.items();

    stored.isDown = true;
    wait(LOOK_MS);
    expect(await watch.items()).toEqual([anAccountItem()]);
    expect(await watch.items()).toEqual([anAccountItem()]);

    expect(reads.stamp).toBe(2);
    expect(lines).toEqual([['warn', 'accounts.not_read', { reason: 'Error' }]]);
  });

  test('rejects while it has never read anything, and reads as soon as the table answers', async () => {
    const { watch, stored } = underWatch();
    stored.isDown = true;

    await expect(watch.items()).rejects.toThrow('The table is down');
    stored.isDown = false;

    expect(await watch.items()).toEqual([]);
  });
});
