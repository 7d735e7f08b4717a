import { describe, expect, test } from 'vitest';
import {
  bootAccount,
  readOrigin,
  recordFirstListing,
} from '../../../../functions/poller/account/discovery/origin.ts';
import { decideHealth } from '../../../../shared/records/account-record.ts';
import { accountKey } from '../../../../shared/store/keys.ts';
import { NOON_MS } from '../../../builders.ts';
import { anInvocation, BOOT_AT } from '../invocation-under-test.ts';

/** Damages the stored item of the account. */
const damage = ({ table }: ReturnType<typeof anInvocation>) =>
  table.sync.update({ key: accountKey('main'), set: { kind: 'account', boot_at: 17 } });

describe('the origin of an account at the beginning of an invocation', () => {
  test('is unknown when the account was never seen', async () => {
    const { deps, memory } = anInvocation();

    expect(await readOrigin(deps, memory.listings)).toMatchObject({ bootAt: undefined, isUnreadable: false });
  });

  test('is what the account has stored', async () => {
    const world = anInvocation();
    await world.know();

    expect(await readOrigin(world.deps, world.memory.listings)).toMatchObject({
      bootAt: BOOT_AT,
      isUnreadable: false,
    });
    expect(world.memory.listings.hasReadWholeList).toBe(true);
  });

  test('does not make projects news before the account was listed', async () => {
    const world = anInvocation();
    await world.know({ isListed: false });
    await readOrigin(world.deps, world.memory.listings);

    expect(world.memory.listings.hasReadWholeList).toBe(false);
  });

  test('is unreadable when the stored item does not say it', async () => {
    const world = anInvocation();
    damage(world);

    expect(await readOrigin(world.deps, world.memory.listings)).toMatchObject({
      bootAt: undefined,
      isUnreadable: true,
    });
  });
});

describe('the first answer of the upstream', () => {
  test('creates the account, with the second of the answer', async () => {
    const { deps, origin, memory, storedAccount } = anInvocation();
    await bootAccount(deps, origin, memory.listings, NOON_MS + 999);

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T12:00:00.000000000Z', is_listed: false });
    expect(origin).toMatchObject({ bootAt: '2026-01-15T12:00:00.000000000Z', isUnreadable: false });
    expect(memory.listings.hasReadWholeList).toBe(false);
  });

  test('creates the account with the time at which the invocation began, when the answer is about a later one', async () => {
    const { deps, origin, memory, storedAccount } = anInvocation();
    await bootAccount(deps, origin, memory.listings, NOON_MS + 5_000);

    expect(storedAccount()).toMatchObject({ boot_at: '2026-01-15T12:00:00.000000000Z' });
  });

  test('makes projects news in an account that was listed before', async () => {
    const { deps, origin, memory, know } = anInvocation();
    await know();
    await bootAccount(deps, origin, memory.listings, NOON_MS);

    expect(origin.bootAt).toBe(BOOT_AT);
    expect(memory.listings.hasReadWholeList).toBe(true);
  });

  test('makes projects news when another process creates and lists the account at the same moment', async () => {
    const { deps, origin, memory, know } = anInvocation();
    const record = deps.store.record.bind(deps.store);
    deps.store.record = async (...args) => {
      deps.store.record = record;
      await know();
      return record(...args);
    };
    await bootAccount(deps, origin, memory.listings, NOON_MS);

    expect(memory.listings.hasReadWholeList).toBe(true);
  });

  test('leaves it open whether projects are news while the account cannot be read', async () => {
    const world = anInvocation();
    const { deps, origin, memory } = world;
    damage(world);
    memory.listings.hasReadWholeList = true;
    await bootAccount(deps, origin, memory.listings, NOON_MS);

    expect(origin).toMatchObject({ bootAt: undefined, isUnreadable: true });
    expect(memory.listings.hasReadWholeList).toBe(true);
  });
});

describe('the first listing that has ended', () => {
  const end = async ({ deps, memory }: ReturnType<typeof anInvocation>, count = 1, malformedRowCount = 0) => {
    memory.listings.count = count;
    const listing = { startedAtMs: NOON_MS, unavailableCount: 0, malformedRowCount, end: 'end' } as const;
    await recordFirstListing(deps, memory.listings, listing);
  };

  test('is recorded: from then on a project that appears is news', async () => {
    const world = anInvocation();
    await world.know({ isListed: false });
    await end(world);

    expect(world.storedAccount()).toMatchObject({ is_listed: true });
    expect(world.memory.listings.hasReadWholeList).toBe(true);
  });

  test('proves nothing while a row of it cannot be read, before the third listing', async () => {
    const world = anInvocation();
    await world.know({ isListed: false });
    await end(world, 2, 1);
    expect(world.storedAccount()).toMatchObject({ is_listed: false });
    expect(world.memory.listings.hasReadWholeList).toBe(false);
    await end(world, 3, 1);

    expect(world.storedAccount()).toMatchObject({ is_listed: true });
  });

  test('changes nothing in an account that was listed before', async () => {
    const world = anInvocation();
    await world.know();
    let writeCount = 0;
    world.deps.store.noteListed = async () => {
      writeCount += 1;
      return 'applied';
    };
    await end(world);

    expect(writeCount).toBe(0);
    expect(world.memory.listings.hasReadWholeList).toBe(true);
  });

  test('makes projects news when another process has recorded one since the origin was read', async () => {
    const world = anInvocation();
    await world.know({ isListed: false });
    const readStored = world.deps.store.readOrigin.bind(world.deps.store);
    world.deps.store.readOrigin = async () => {
      const origin = await readStored();
      await world.deps.store.noteListed();
      return origin;
    };
    await end(world);

    expect(world.memory.listings.hasReadWholeList).toBe(true);
  });

  test('of an account that is not stored, or cannot be read, is not recorded', async () => {
    const missing = anInvocation();
    await end(missing);
    const unreadable = anInvocation();
    damage(unreadable);
    await end(unreadable);

    expect([missing, unreadable].map(({ memory }) => memory.listings.hasReadWholeList)).toEqual([
      false,
      false,
    ]);
    expect(missing.storedAccount()).toBeUndefined();
    expect(unreadable.storedAccount()).not.toHaveProperty('is_listed');
  });

  test('takes back no acknowledgement that another process has made meanwhile', async () => {
    const world = anInvocation();
    await world.know({ isListed: false });
    const { store } = world.deps;
    const readAccount = store.readAccount.bind(store);
    const account = await readAccount();
    const degraded = account && decideHealth(account, 'key_rejected', NOON_MS);
    if (degraded === undefined) throw new Error('The account is stored, and was well');
    await store.record(degraded, 0);
    store.readAccount = async () => {
      const asRead = await readAccount();
      await store.acknowledge(degraded, { through: 1, derived: 1 });
      return asRead;
    };
    await end(world);

    expect(world.storedAccount()).toMatchObject({ is_listed: true, revision: 1, published: 1 });
  });

  test('does not make projects news when the account was removed meanwhile', async () => {
    const world = anInvocation();
    await world.know({ isListed: false });
    world.deps.store.noteListed = async () => 'refused';
    await end(world);

    expect(world.memory.listings.hasReadWholeList).toBe(false);
  });
});
