import { describe, expect, test } from 'vitest';
import { commandSettingsOf } from '../../shared/accounts/account.ts';
import {
  createAccountDirectory,
  openAccountDirectory,
  openAccountWatch,
  perAccount,
} from '../../shared/accounts/account-directory.ts';
import { createAccountStore, LOOK_MS } from '../../shared/accounts/account-store.ts';
import type { Table } from '../../shared/store/table.ts';
import { aClock, NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';
import { anAccount, RULES } from './an-account.ts';

function openHere() {
  const memory = createMemoryTable();
  const partitions = createMemoryPartitions(memory);
  const faults = { isDown: false };
  const lines: string[] = [];
  const logged: unknown[][] = [];
  let nowMs = NOON_MS;
  let idCount = 0;
  const clock = aClock(() => nowMs);
  const table: Table = {
    ...memory,
    get: async (key: { readonly pk: string; readonly sk: string }) => {
      if (faults.isDown) throw new Error('The table is down');
      return memory.get(key);
    },
  };
  const telemetry = {
    log(...line: readonly [level: string, event: string, fields?: object]) {
      lines.push(line[1]);
      logged.push([...line]);
    },
    measure: () => {},
  };
  const newId = () => `id-${++idCount}`;
  const configured = [commandSettingsOf(anAccount({ account_id: 'main' }))];
  const merge = { rules: RULES, settingsOf: commandSettingsOf };
  const ports = { table, partitions, clock, telemetry };
  return {
    configured,
    merge,
    ports,
    faults,
    lines,
    logged,
    store: createAccountStore(memory, partitions, { clock, newId }),
    directory: openAccountDirectory(configured, merge, ports),
    wait: (durationMs: number) => {
      nowMs += durationMs;
    },
  };
}

const added = (account_id: string) => ({
  account_id,
  state: 'active' as const,
  settings: anAccount({ account_id }),
  changed_by: 'an-admin',
});

describe('the directory of accounts', () => {
  test('has the configured accounts before it has read anything', () => {
    expect([...openHere().directory.all().keys()]).toEqual(['main']);
  });

  test('of the next invocation has what the watch of the first one knows, and reads it again only after a change', async () => {
    const { configured, merge, ports, store, wait } = openHere();
    let readCount = 0;
    const partitions: typeof ports.partitions = {
      readPartition(query) {
        readCount += 1;
        return ports.partitions.readPartition(query);
      },
    };
    await store.add(added('tenant'));
    const watched = { ...ports, watch: openAccountWatch({ ...ports, partitions }) };
    const idsOfAnInvocation = async () => {
      wait(60_000);
      const directory = createAccountDirectory(configured, merge, watched);
      await directory.refresh();
      return [...directory.all().keys()].toSorted();
    };

    expect(await idsOfAnInvocation()).toEqual(['main', 'tenant']);
    expect(await idsOfAnInvocation()).toEqual(['main', 'tenant']);
    expect(readCount).toBe(1);
    await store.add(added('another'));
    expect(await idsOfAnInvocation()).toEqual(['another', 'main', 'tenant']);
    expect(readCount).toBe(2);
  });

  test('shows an added, a paused and a removed account after the next look', async () => {
    const { directory, store, wait } = openHere();
    await directory.refresh();

    const item = await store.add(added('tenant'));
    wait(LOOK_MS);
    await directory.refresh();
    expect(directory.get('tenant')).toMatchObject({ state: 'active', origin: 'added' });

    const paused = item && (await store.change(item, { state: 'paused', changed_by: 'an-admin' }));
    wait(LOOK_MS);
    await directory.refresh();
    expect(directory.get('tenant')).toMatchObject({ state: 'paused' });

    if (paused) await store.change(paused, { state: 'removed', changed_by: 'an-admin' });
    wait(LOOK_MS);
    await directory.refresh();
    expect(directory.get('tenant')).toBeUndefined();
  });

  test('serves the configured accounts while the table is down, and the others as soon as it answers', async () => {
    const { directory, store, faults, lines, wait } = openHere();
    await store.add(added('tenant'));
    faults.isDown = true;

    await directory.refresh();
    await directory.refresh();
    expect([...directory.all().keys()]).toEqual(['main']);
    expect(lines).toEqual(['accounts.unknown']);

    faults.isDown = false;
    wait(LOOK_MS);
    await directory.refresh();
    expect([...directory.all().keys()].toSorted()).toEqual(['main', 'tenant']);
  });

  test('is the same one until the accounts of the table change', async () => {
    const { directory, store, wait } = openHere();
    await directory.refresh();
    const before = directory.all();
    wait(LOOK_MS);
    await directory.refresh();
    expect(directory.all()).toBe(before);

    await store.add(added('tenant'));
    wait(LOOK_MS);
    await directory.refresh();
    expect(directory.all()).not.toBe(before);
  });

  test('shows at once what its own process has changed', async () => {
    const { directory, store } = openHere();
    await directory.refresh();
    await store.add(added('tenant'));
    await directory.refresh();
    expect(directory.get('tenant')).toBeUndefined();

    directory.forget();
    await directory.refresh();
    expect(directory.get('tenant')).toBeDefined();
  });

  test('asks a table that is down again after five seconds, and says each time what is wrong', async () => {
    const { directory, faults, logged, wait } = openHere();
    faults.isDown = true;
    await directory.refresh();
    wait(4_999);
    await directory.refresh();
    expect(logged).toEqual([['error', 'accounts.unknown', { reason: 'Error' }]]);

    wait(1);
    await directory.refresh();
    expect(logged).toHaveLength(2);
  });
});

describe('what is kept for each account', () => {
  const keeper = () => {
    const settings = new Map([['main', { rate: 10 }]]);
    const made: number[] = [];
    const kept = perAccount(
      (accountId) => settings.get(accountId),
      ({ rate }) => {
        made.push(rate);
        return { rate };
      },
    );
    return { settings, made, kept };
  };

  test('is made once, also when equal settings were read again', () => {
    const { settings, made, kept } = keeper();
    const first = kept.get('main');
    settings.set('main', { rate: 10 });

    expect(kept.get('main')).toBe(first);
    expect(kept.made()).toEqual([first]);
    expect(made).toEqual([10]);
  });

  test('is made again when the settings have changed', () => {
    const { settings, made, kept } = keeper();
    kept.get('main');
    settings.set('main', { rate: 20 });

    expect(kept.get('main')).toEqual({ rate: 20 });
    expect(made).toEqual([10, 20]);
  });

  test('is gone with its account', () => {
    const { settings, kept } = keeper();
    kept.get('main');
    settings.delete('main');

    expect(kept.get('main')).toBeUndefined();
    expect(kept.made()).toEqual([]);
  });
});
