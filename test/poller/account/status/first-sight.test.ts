import { describe, expect, test } from 'vitest';
import {
  publishFirstSightRepeatedly,
  type ReadSoFar,
} from '../../../../functions/poller/account/status/publish-health.ts';
import {
  type AccountRecord,
  decideHealth,
  firstAccountRecord,
} from '../../../../shared/records/account-record.ts';
import { PENDING_ENTRIES_MAX } from '../../../../shared/records/journal.ts';
import { decideWatchEnd } from '../../../../shared/records/operation-record.ts';
import { accountKey } from '../../../../shared/store/keys.ts';
import { aRecord, commandRecord, NOON_MS } from '../../../builders.ts';
import { anInvocation, BOOT_AT } from '../invocation-under-test.ts';

const DAY_MS = 86_400_000;
const FAILED = { status: 'failed', failures_count: 1 };

/** Looks at most `looksMax` times, ten seconds apart, and resolves to what the loop resolves to. */
function setUp() {
  const world = anInvocation();
  const { deps, hooks, sleeps, stop, events } = world;
  const read: { -readonly [Name in keyof ReadSoFar]: ReadSoFar[Name] } & {
    readings: { completedAtMs: Map<string, number> };
  } = {
    areProjectsKnown: true,
    visibleIds: ['a', 'b'],
    readings: {
      completedAtMs: new Map([
        ['a', NOON_MS],
        ['b', NOON_MS],
      ]),
    },
  };
  const look = (looksMax = 1, betweenLooks = () => {}) => {
    hooks.onSleep = () => {
      betweenLooks();
      if (sleeps.length >= looksMax) stop.abort();
    };
    return publishFirstSightRepeatedly(deps, () => read);
  };
  const published = () =>
    events.map(({ type, project_count, failing_count }) => [type, project_count, failing_count]);
  return { ...world, read, look, published };
}

async function aKnownAccount() {
  const world = setUp();
  await world.know();
  return world;
}

describe('the end of the first reading', () => {
  test('is published with the number of projects and of operations that fail and have not ended', async () => {
    const { store, look, published, sleeps, storedAccount } = await aKnownAccount();
    const failed = aRecord({ id: 'failed', ...FAILED });
    const unwatched = aRecord({ id: 'unwatched', ...FAILED });
    await store.record(failed, undefined);
    await store.record(aRecord({ id: 'running' }), undefined);
    await store.record(aRecord({ id: 'given-up', status: 'error', failures_count: 3 }), undefined);
    await store.record(decideWatchEnd(unwatched, { reason: 'not_retried', nowMs: NOON_MS }), undefined);
    await store.record(commandRecord('a', 'r-1'), undefined);

    expect(await look()).toBe(true);
    expect(published()).toEqual([['Account Watched', 2, 1]]);
    expect(storedAccount()).toMatchObject({ watched_at: new Date(NOON_MS).toISOString() });
    expect(sleeps).toEqual([]);
  });

  test('costs no read of an item that is no operation', async () => {
    const { store, deps, look } = await aKnownAccount();
    await store.record(commandRecord('a', 'r-1'), undefined);
    await store.record(aRecord({ id: 'running' }), undefined);
    const keys: string[] = [];
    const readRecords = store.readRecords.bind(store);
    deps.store.readRecords = (asked) => {
      keys.push(...asked.map(({ sk }) => sk));
      return readRecords(asked);
    };

    await look();

    expect(keys).toEqual(['OP#running']);
  });

  test('counts the operations of all pages', async () => {
    const { store, look, published } = await aKnownAccount();
    for (let index = 0; index < 401; index++)
      await store.record(aRecord({ id: `failed-${index}`, ...FAILED }), undefined);

    await look();

    expect(published()).toEqual([['Account Watched', 2, 401]]);
  });

  test('counts two thousand failing operations and no more', async () => {
    const { deps, look, published } = await aKnownAccount();
    const entry = { key: { pk: 'p', sk: 's' }, projectId: 'a', operationId: 'o', isCommand: false };
    let pageCount = 0;
    deps.store.findWorkPage = async ({ limit }) => {
      pageCount += 1;
      return { entries: Array.from({ length: limit }, () => entry), next: { pk: 'p', sk: 's' } };
    };
    deps.store.readRecords = async (keys) => keys.map(() => aRecord(FAILED));

    await look();

    expect(published()).toEqual([['Account Watched', 2, 2_000]]);
    expect(pageCount).toBe(10);
  });

  test('is looked for every ten seconds until every project was read', async () => {
    const { read, look, published, sleeps } = await aKnownAccount();
    read.readings.completedAtMs.delete('b');

    const isDone = await look(10, () => {
      if (sleeps.length === 2) read.readings.completedAtMs.set('b', NOON_MS);
    });

    expect(isDone).toBe(true);
    expect(sleeps).toEqual([10_000, 10_000]);
    expect(published()).toEqual([['Account Watched', 2, 0]]);
  });
});

describe('nothing is published', () => {
  test('while the project list was not read as a whole', async () => {
    const { read, look, events } = await aKnownAccount();
    read.areProjectsKnown = false;

    expect(await look(2)).toBe(false);
    expect(events).toEqual([]);
  });

  test('while the account is not recorded, or its item cannot be read', async () => {
    const unknown = setUp();
    const damaged = await aKnownAccount();
    damaged.table.sync.update({ key: accountKey('main'), set: { boot_at: 17 } });

    expect([await unknown.look(), await damaged.look()]).toEqual([false, false]);
    expect([...unknown.events, ...damaged.events]).toEqual([]);
    expect([...unknown.logs, ...damaged.logs].map(({ event }) => event)).not.toContain(
      'first_sight.not_published',
    );
  });

  test('while the journal of the account is full', async () => {
    const { store, look, events } = setUp();
    let record: AccountRecord = firstAccountRecord('main', BOOT_AT);
    for (let count = 0; count < PENDING_ENTRIES_MAX; count++)
      record = decideHealth(record, count % 2 === 0 ? 'key_rejected' : undefined, NOON_MS) ?? record;
    await store.record(record, undefined);

    expect(await look()).toBe(false);
    expect(events).toEqual([]);
  });

  test('of an account that is older than a day, and a warm process need not look again', async () => {
    const { look, events, pass, read, sleeps } = await aKnownAccount();
    read.readings.completedAtMs.clear();
    pass(DAY_MS);

    expect(await look(2)).toBe(true);
    expect(events).toEqual([]);
    expect(sleeps).toEqual([]);
  });

  test('when another process has changed the account at this moment, and the next look decides anew', async () => {
    const { deps, store, look, published, sleeps } = await aKnownAccount();
    const record = store.record.bind(store);
    deps.store.record = (next, expected) =>
      sleeps.length === 0 ? Promise.resolve('conflict') : record(next, expected);

    expect(await look(3)).toBe(true);
    expect(published()).toEqual([['Account Watched', 2, 0]]);
    expect(sleeps).toHaveLength(1);
  });

  test('while the table does not answer, which a line logs, and the next look tries again', async () => {
    const { deps, store, look, published, sleeps, logs } = await aKnownAccount();
    const readAccount = store.readAccount.bind(store);
    deps.store.readAccount = () =>
      sleeps.length === 0 ? Promise.reject(new RangeError('busy')) : readAccount();

    expect(await look(3)).toBe(true);
    expect(logs).toEqual([{ level: 'warn', event: 'first_sight.not_published', reason: 'RangeError' }]);
    expect(published()).toHaveLength(1);
  });
});
