/** Tests what accounts need of a table, whatever it is made of. The same suite runs on every implementation. */

import { beforeEach, describe, expect, test } from 'vitest';
import type { AccountItem } from '../../shared/accounts/account.ts';
import { createAccountStore } from '../../shared/accounts/account-store.ts';
import { ACCOUNTS_PARTITION } from '../../shared/store/keys.ts';
import type { Table, TablePartitions } from '../../shared/store/table.ts';
import { anAccount } from '../accounts/an-account.ts';
import { aClock } from '../builders.ts';

let idCount = 0;

function nextId(): string {
  idCount += 1;
  return `account-${idCount}`;
}

/** All tests share one partition, so each uses an account of its own. */
export function describeAccounts(
  name: string,
  open: () => { readonly table: Table; readonly partitions: TablePartitions },
): void {
  describe(`accounts in ${name}`, () => {
    let accountId: string;
    const unreadable: unknown[] = [];
    const storeOf = () => {
      const { table, partitions } = open();
      return createAccountStore(table, partitions, {
        clock: aClock(),
        newId: nextId,
        noteUnreadable: (item) => void unreadable.push(item.key.sk),
      });
    };
    const added = () => ({
      account_id: accountId,
      state: 'active' as const,
      settings: anAccount({ account_id: accountId }),
      changed_by: 'an-admin',
    });
    const addedItem = async (): Promise<AccountItem> => {
      const item = await storeOf().add(added());
      if (item === undefined) throw new Error(`${accountId} exists already`);
      return item;
    };

    beforeEach(() => {
      accountId = nextId();
      unreadable.length = 0;
    });

    test('an added account is read as it was added', async () => {
      const item = await addedItem();

      expect(item).toMatchObject({ ...added(), version: 1, added_by: 'an-admin' });
      expect(await storeOf().get(accountId)).toEqual(item);
      expect(await storeOf().list()).toContainEqual(item);
    });

    test('an account is added once', async () => {
      await addedItem();

      expect(await storeOf().add(added())).toBeUndefined();
    });

    test('an account that was removed can be added again', async () => {
      const item = await addedItem();
      await storeOf().change(item, { state: 'removed', changed_by: 'an-admin' });

      expect(await storeOf().add(added())).toMatchObject({ state: 'active', version: 3 });
    });

    test('a change is refused when the account was changed since it was read', async () => {
      const item = await addedItem();
      const paused = await storeOf().change(item, { state: 'paused', changed_by: 'one' });

      expect(await storeOf().change(item, { state: 'removed', changed_by: 'another' })).toBeUndefined();
      expect(await storeOf().get(accountId)).toEqual(paused);
    });

    test('a pin stays until it is taken away', async () => {
      const pinned = await storeOf().change(await addedItem(), { lane: 4, changed_by: 'one' });
      const paused = pinned && (await storeOf().change(pinned, { state: 'paused', changed_by: 'one' }));
      expect(paused).toMatchObject({ lane: 4, state: 'paused' });

      const free = paused && (await storeOf().change(paused, { lane: null, changed_by: 'one' }));
      expect(free).not.toHaveProperty('lane');
      expect(await storeOf().get(accountId)).not.toHaveProperty('lane');
    });

    test('the stamp is another one after each change', async () => {
      const item = await addedItem();
      const before = await storeOf().stamp();
      await storeOf().change(item, { state: 'paused', changed_by: 'one' });

      expect(before).toEqual(expect.any(String));
      expect(await storeOf().stamp()).not.toBe(before);
    });

    test('an item that cannot be read hides itself alone', async () => {
      const item = await addedItem();
      const sk = `ACCOUNT#broken-${accountId}`;
      await open().table.update({ key: { pk: ACCOUNTS_PARTITION, sk }, set: { version: 'seven' } });

      expect(await storeOf().list()).toContainEqual(item);
      expect(unreadable).toContain(sk);
      await expect(storeOf().get(`broken-${accountId}`)).rejects.toMatchObject({ code: 'item_unreadable' });
    });
  });
}
