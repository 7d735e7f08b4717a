import { describe, expect, test } from 'vitest';
import { accountItem, LANES_MAX, readableAccounts } from '../../shared/accounts/account.ts';
import { createAccountReader, createAccountStore } from '../../shared/accounts/account-store.ts';
import { ACCOUNTS_PARTITION, ACCOUNTS_STAMP_KEY, accountItemKey } from '../../shared/store/keys.ts';
import type { IndexPosition, Item } from '../../shared/store/table.ts';
import { aClock } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { describeAccounts } from '../store/accounts-contract.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';
import { anAccount, anAccountItem } from './an-account.ts';

const shared = createMemoryTable();

describeAccounts('the in-memory table', () => ({
  table: shared,
  partitions: createMemoryPartitions(shared),
}));

function anEmptyStore() {
  const memory = createMemoryTable();
  let idCount = 0;
  const newId = () => `id-${++idCount}`;
  const store = createAccountStore(memory, createMemoryPartitions(memory), {
    clock: aClock(),
    newId,
  });
  const peek = (accountId = 'tenant') => memory.sync.peek(accountItemKey(accountId));
  const add = async () => {
    const added = {
      account_id: 'tenant',
      state: 'active',
      settings: anAccount(),
      changed_by: 'one',
    } as const;
    const item = await store.add(added);
    if (item === undefined) throw new Error('the account exists already');
    return item;
  };
  return { memory, store, add, peek };
}

describe('the item of an account', () => {
  test('is there from the first change on, and the stamp with it', async () => {
    const { store, add, memory, peek } = anEmptyStore();
    expect([await store.get('tenant'), await store.stamp()]).toEqual([undefined, undefined]);
    await add();

    expect(peek()).toMatchObject({ kind: 'account_item', account_id: 'tenant' });
    expect(memory.sync.peek(ACCOUNTS_STAMP_KEY)).toMatchObject({ kind: 'accounts_stamp', stamp: 'id-1' });
  });

  test('is kept after the account was removed, because the next account of the id has another generation', async () => {
    const { store, add, peek } = anEmptyStore();
    await store.change(await add(), { state: 'removed', changed_by: 'another' });
    expect(peek()).not.toHaveProperty('expires_at');
    await add();

    expect(peek()).toMatchObject({ state: 'active', added_by: 'one', generation: 2 });
    expect(peek()).not.toHaveProperty('expires_at');
  });

  test('keeps no end of its own while the account is paused', async () => {
    const { store, add, peek } = anEmptyStore();
    await store.change(await add(), { state: 'paused', changed_by: 'another' });

    expect(peek()).toMatchObject({ state: 'paused', changed_by: 'another', added_by: 'one' });
    expect(peek()).not.toHaveProperty('expires_at');
  });

  test('loses the settings of the account that had its id before, when it marks a configured account', async () => {
    const { store, add, peek } = anEmptyStore();
    await store.change(await add(), { state: 'removed', changed_by: 'another' });
    await store.add({ account_id: 'tenant', state: 'paused', settings: undefined, changed_by: 'one' });

    expect(peek()).not.toHaveProperty('settings');
  });

  test('is that of one of two callers who add the account at the same time', async () => {
    const { add, store } = anEmptyStore();
    const results = await Promise.allSettled([add(), add()]);

    expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await store.get('tenant')).toMatchObject({ version: 1 });
  });

  test('and its stamp stay as they are when a change is refused', async () => {
    const { store, add } = anEmptyStore();
    const item = await add();
    const stamp = await store.stamp();

    expect(
      await store.change({ ...item, version: 7 }, { state: 'paused', changed_by: 'one' }),
    ).toBeUndefined();
    expect([await store.get('tenant'), await store.stamp()]).toEqual([item, stamp]);
  });

  test('has no stamp when another version of the bridge has written something else there', async () => {
    const { store, memory } = anEmptyStore();
    memory.sync.update({ key: ACCOUNTS_STAMP_KEY, set: { stamp: 7 } });

    expect(await store.stamp()).toBeUndefined();
  });

  test.each([
    [0, true],
    [LANES_MAX - 1, true],
    [LANES_MAX, false],
    [-1, false],
    [1.5, false],
  ])('may be pinned to a lane that a deployment can have: %d is one: %s', (lane, isValid) => {
    expect(accountItem.safeParse(anAccountItem({ lane })).success).toBe(isValid);
  });

  test('that cannot be read is noted by its key and its fields', async () => {
    const noted: unknown[] = [];
    const key = accountItemKey('broken');
    const broken = { ...anAccountItem({ account_id: 'broken' }), ...key, version: 'seven' };
    const settings = { ...anAccount(), account_id: 5 };
    const items = [broken, { ...anAccountItem(), ...key, settings }] as unknown as readonly Item[];

    expect(readableAccounts(items, (item) => void noted.push(item))).toEqual([]);
    expect(noted).toEqual([
      { key, fields: ['version'] },
      { key, fields: ['settings.account_id'] },
    ]);
  });

  test('that cannot be read is named in the error when it is asked for', async () => {
    const { store, memory } = anEmptyStore();
    const settings = { ...anAccount(), account_id: 5 };
    const { account_id: _own, ...fields } = anAccountItem();
    memory.sync.update({
      key: accountItemKey('broken'),
      set: { ...fields, account_id: 'broken', settings },
    });

    await expect(store.get('broken')).rejects.toThrow(
      'ACCOUNT#broken does not parse; look at: settings.account_id.',
    );
  });
});

describe('the list of accounts', () => {
  /** The last page is number `pageCount`. */
  function aReader(pageCount: number) {
    const asked: (IndexPosition | undefined)[] = [];
    const partitions = {
      async readPartition({ partition, start }: { partition: string; start?: IndexPosition | undefined }) {
        expect(partition).toBe(ACCOUNTS_PARTITION);
        asked.push(start);
        const account_id = `a-${asked.length}`;
        const item = { ...anAccountItem({ account_id }), ...accountItemKey(account_id) } as unknown as Item;
        const next = asked.length < pageCount ? { page: String(asked.length) } : undefined;
        return { items: [item], next };
      },
    };
    return { asked, reader: createAccountReader(createMemoryTable(), partitions) };
  }

  test('is read page after page to its end', async () => {
    const { asked, reader } = aReader(40);

    expect(await reader.list()).toHaveLength(40);
    expect(asked.slice(0, 3)).toEqual([undefined, { page: '1' }, { page: '2' }]);
  });

  test('is refused when it has more than forty pages, because a part of it would hide accounts', async () => {
    const { asked, reader } = aReader(41);

    await expect(reader.list()).rejects.toThrow(
      'There are more than 40 accounts, which is more than a function reads',
    );
    expect(asked).toHaveLength(40);
  });
});
