/** Tests what the protocol needs of a table, whatever it is made of. The same suite runs on every implementation. */

import { describe, expect, test } from 'vitest';
import { pendingEntries } from '../../shared/records/journal.ts';
import { acknowledged } from '../../shared/records/journal-record.ts';
import {
  decideNextRecord,
  decideWatchEnd,
  isOpen,
  type Operation,
} from '../../shared/records/operation-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { type BridgeStore, createBridgeStore } from '../../shared/store/bridge-store.ts';
import { operationKey, parkedWorkOf, projectKey } from '../../shared/store/keys.ts';
import type { Table } from '../../shared/store/table.ts';
import { aContext, anOperation, aRecord, NOON_MS } from '../builders.ts';

const PROJECT_ID = anOperation().project_id;
const OPERATION_ID = anOperation().id;
const at = (text: string) => text as Timestamp;

/** `accountId` is new for every test, so that one table serves them all. */
export function describeStore(name: string, open: () => Table): void {
  let testCount = 0;
  const fresh = (): { store: BridgeStore; table: Table; accountId: string } => {
    testCount += 1;
    const accountId = `account-${testCount}`;
    const table = open();
    const clock = { now: () => NOON_MS, sleep: async () => {} };
    return { store: createBridgeStore(table, accountId, clock), table, accountId };
  };
  const ours = (accountId: string, ...states: readonly Partial<Operation>[]) => ({
    ...aRecord(...states),
    account_id: accountId,
  });
  const workIds = async (store: BridgeStore) =>
    (await store.findWork()).map(({ operationId }) => operationId);

  const pendingOf = async (store: BridgeStore) => {
    const record = await store.readOperation(PROJECT_ID, OPERATION_ID);
    return record && pendingEntries(record).map(({ revision }) => revision);
  };

  describe(`the store on ${name}`, () => {
    test('gives back what was recorded', async () => {
      const { store, accountId } = fresh();
      const record = ours(accountId, { error: 'it broke', total_duration_ms: 12.5 });

      expect(await store.record(record, undefined)).toBe('recorded');
      expect(await store.readOperation(PROJECT_ID, OPERATION_ID)).toEqual(withoutUndefined(record));
    });

    test('has nothing where nothing was recorded', async () => {
      const { store } = fresh();

      expect(await store.readOperation(PROJECT_ID, OPERATION_ID)).toBeUndefined();
      expect(await store.readOperations(PROJECT_ID, [OPERATION_ID])).toEqual({
        records: new Map(),
        unreadableIds: new Set(),
      });
      expect(await store.readProject(PROJECT_ID)).toBeUndefined();
      expect(await store.readAccount()).toBeUndefined();
      expect(await store.findWork()).toEqual([]);
    });

    test('refuses a second first record', async () => {
      const { store, accountId } = fresh();
      await store.record(ours(accountId, { status: 'running' }), undefined);

      expect(await store.record(ours(accountId, { status: 'finished' }), undefined)).toBe('conflict');
      expect((await store.readOperation(PROJECT_ID, OPERATION_ID))?.status).toBe('running');
    });

    test('refuses a record that follows another revision than the stored one', async () => {
      const { store, accountId } = fresh();
      const first = ours(accountId);
      const second =
        decideNextRecord(first, anOperation({ status: 'failed', failures_count: 1 }), aContext()) ?? first;
      await store.record(first, undefined);
      await store.record({ ...second, account_id: accountId }, 1);

      expect(await store.record({ ...second, account_id: accountId }, 1)).toBe('conflict');
      expect((await store.readOperation(PROJECT_ID, OPERATION_ID))?.revision).toBe(2);
    });

    test('finds an open operation as work, of the account and of its project', async () => {
      const { store, accountId } = fresh();
      await store.record(ours(accountId), undefined);

      expect(await workIds(store)).toEqual([OPERATION_ID]);
      expect((await store.findWork(PROJECT_ID)).map(({ projectId }) => projectId)).toEqual([PROJECT_ID]);
      expect(await store.findWork('another-project-1')).toEqual([]);
    });

    test('keeps an open operation as work after its events are acknowledged', async () => {
      const { store, accountId } = fresh();
      const record = ours(accountId);
      await store.record(record, undefined);

      await store.acknowledge(record, { through: 1, derived: 1 });

      expect(await workIds(store)).toEqual([OPERATION_ID]);
      expect(await pendingOf(store)).toEqual([]);
    });

    test('keeps a finished operation as work until its events are acknowledged', async () => {
      const { store, table, accountId } = fresh();
      const record = ours(accountId, {}, { status: 'finished' });
      await store.record(record, undefined);

      expect(await workIds(store)).toEqual([OPERATION_ID]);
      await store.acknowledge(record, { through: 2, derived: 2 });

      const item = await table.get(operationKey(accountId, PROJECT_ID, OPERATION_ID));
      expect(await store.findWork()).toEqual([]);
      expect(item?.['expires_at']).toBeGreaterThan(NOON_MS / 1_000 + 30 * 24 * 3_600);
    });

    test('a settled operation that moves again is work again and does not expire', async () => {
      const { store, table, accountId } = fresh();
      const record = ours(accountId, { status: 'finished' });
      await store.record(record, undefined);
      await store.acknowledge(record, { through: 1, derived: 1 });
      const settled = acknowledged(record, { through: 1, derived: 1 });
      const reopened = decideNextRecord(settled, anOperation({ status: 'running' }), aContext());
      if (reopened === undefined) throw new Error('nothing changed');

      expect(await store.record({ ...reopened, account_id: accountId }, 1)).toBe('recorded');
      const item = await table.get(operationKey(accountId, PROJECT_ID, OPERATION_ID));
      expect(await workIds(store)).toEqual([OPERATION_ID]);
      expect(item?.['expires_at']).toBeUndefined();
    });

    test('an acknowledgement keeps what was recorded meanwhile', async () => {
      const { store, accountId } = fresh();
      const first = ours(accountId);
      const second = ours(accountId, {}, { status: 'finished' });
      await store.record(first, undefined);
      await store.record(second, 1);

      await store.acknowledge(first, { through: 1, derived: 1 });

      const stored = await store.readOperation(PROJECT_ID, OPERATION_ID);
      expect(stored).toMatchObject({ published: 1, revision: 2, status: 'finished' });
      expect(stored?.entries.map(({ revision }) => revision)).toContain(2);
      expect(await workIds(store)).toEqual([OPERATION_ID]);
    });

    test('an acknowledgement leaves an operation that moved again meanwhile in the index', async () => {
      const { store, accountId } = fresh();
      const ended = ours(accountId, { status: 'finished' });
      const reopened = decideNextRecord(ended, anOperation({ status: 'running' }), aContext());
      if (reopened === undefined) throw new Error('nothing changed');
      await store.record(ended, undefined);
      await store.record({ ...reopened, account_id: accountId }, 1);

      await store.acknowledge(ended, { through: 1, derived: 1 });

      expect(await workIds(store)).toEqual([OPERATION_ID]);
      expect(await pendingOf(store)).toEqual([2]);
    });

    test('a late partial acknowledgement never takes back a whole one', async () => {
      const { store, accountId } = fresh();
      const record = ours(accountId, {}, { status: 'finished' });
      await store.record(record, undefined);
      await store.acknowledge(record, { through: 2, derived: 2 });

      await store.acknowledge(record, { through: 1, derived: 1 });

      expect(await pendingOf(store)).toEqual([]);
      expect(await store.findWork()).toEqual([]);
    });

    test('a partial acknowledgement leaves the rest to be sent', async () => {
      const { store, accountId } = fresh();
      const record = ours(accountId, {}, { status: 'finished' });
      await store.record(record, undefined);

      await store.acknowledge(record, { through: 1, derived: 1 });

      expect(await pendingOf(store)).toEqual([2]);
      expect(await workIds(store)).toEqual([OPERATION_ID]);
    });

    test('acknowledging twice is acknowledging once', async () => {
      const { store, accountId } = fresh();
      const record = ours(accountId, { status: 'finished' });
      await store.record(record, undefined);
      await store.acknowledge(record, { through: 1, derived: 1 });
      const before = await store.readOperation(PROJECT_ID, OPERATION_ID);

      await store.acknowledge(record, { through: 1, derived: 1 });

      expect(await store.readOperation(PROJECT_ID, OPERATION_ID)).toEqual(before);
    });

    test('an operation whose watch ended is no work once that is published', async () => {
      const { store, accountId } = fresh();
      const failed = ours(accountId, { status: 'failed', failures_count: 1 });
      const ended = decideWatchEnd(failed, { reason: 'not_retried', nowMs: NOON_MS });
      await store.record(failed, undefined);
      await store.record(ended, 1);
      await store.acknowledge(ended, { through: 2, derived: 2 });

      const stored = await store.readOperation(PROJECT_ID, OPERATION_ID);
      expect(stored && isOpen(stored)).toBe(false);
      expect(await store.findWork()).toEqual([]);
    });

    test('parks an entry under the account, with its whole event', async () => {
      const { store, table, accountId } = fresh();
      const record = ours(accountId);
      const [entry] = record.entries;
      if (entry === undefined) throw new Error('no entry');

      await store.park(record, { entry, code: 'MalformedDetail', event: '{"detailType":"x"}' });

      const [key] = await table.queryWork({ work: parkedWorkOf(accountId) });
      expect(key && (await table.get(key))).toMatchObject({
        code: 'MalformedDetail',
        event: '{"detailType":"x"}',
      });
      expect(await store.findWork()).toEqual([]);
    });

    test('writes a bound only beside the one that was read, or beside none', async () => {
      const { store } = fresh();
      const [first, second] = [at('2026-01-15T12:00:05.000000000Z'), at('2026-01-15T12:00:06.000000000Z')];
      const known = { arrivals: { count: 7, observed_ms: 86_400_000 }, sweptAtMs: 1_768_478_405_000 };

      expect(await store.saveProgress(PROJECT_ID, { bound: first, ...known }, null)).toBe('recorded');
      expect(await store.saveProgress(PROJECT_ID, { bound: second, sweptAtMs: 1 }, null)).toBe('conflict');
      expect(await store.readProject(PROJECT_ID)).toMatchObject({
        bound: first,
        arrivals: known.arrivals,
        swept_at_ms: known.sweptAtMs,
      });
      expect(await store.saveProgress(PROJECT_ID, { bound: second, resume: null }, first)).toBe('recorded');
      expect((await store.readProject(PROJECT_ID))?.bound).toBe(second);
    });

    test('lowers a bound, and says so until a walk has earned another one', async () => {
      const { store } = fresh();
      const [high, low] = [at('2026-01-15T12:00:05.000000000Z'), at('2026-01-08T12:00:00.000000000Z')];
      await store.saveProgress(PROJECT_ID, { bound: high }, null);

      await store.saveProgress(PROJECT_ID, { bound: low, isLowered: true, resume: null }, high);
      expect(await store.readProject(PROJECT_ID)).toMatchObject({ bound: low, isLowered: true });
      expect(await store.saveProgress(PROJECT_ID, { bound: high }, high)).toBe('conflict');

      await store.saveProgress(PROJECT_ID, { bound: high }, low);
      expect((await store.readProject(PROJECT_ID))?.isLowered).toBeUndefined();
    });

    test('forgets where a walk was interrupted once a walk is complete', async () => {
      const { store } = fresh();
      const resume = { head: at('2026-01-15T12:00:01.000000000Z'), cursor: '2026-01-15T11:00:00.12Z' };
      await store.saveProgress(PROJECT_ID, { resume }, null);
      expect((await store.readProject(PROJECT_ID))?.resume).toEqual(resume);

      await store.saveProgress(
        PROJECT_ID,
        { bound: at('2026-01-15T12:00:05.000000000Z'), resume: null },
        null,
      );

      expect((await store.readProject(PROJECT_ID))?.resume).toBeUndefined();
    });

    test('keeps where a sweep goes on until the sweep is done', async () => {
      const { store } = fresh();
      const sweep = { bound: at('2026-01-08T12:00:00.000000000Z'), cursor: '2026-01-12T11:00:00.12Z' };
      await store.saveProgress(PROJECT_ID, { sweep }, null);
      expect((await store.readProject(PROJECT_ID))?.sweep).toEqual(sweep);

      await store.saveProgress(PROJECT_ID, { sweep: null, sweptAtMs: 1_768_478_405_000 }, null);

      const after = await store.readProject(PROJECT_ID);
      expect(after?.sweep).toBeUndefined();
      expect(after?.swept_at_ms).toBe(1_768_478_405_000);
    });

    test('journal writes of a project leave alone how far it is read and what was learned of it', async () => {
      const { store } = fresh();
      await store.saveProgress(
        PROJECT_ID,
        { bound: at('2026-01-15T12:00:05.000000000Z'), resume: null },
        null,
      );
      const stale = await store.readProject(PROJECT_ID);
      if (stale === undefined) throw new Error('no project');
      const bound = at('2026-01-15T12:00:06.000000000Z');
      const arrivals = { count: 7, observed_ms: 60_000 };
      await store.saveProgress(PROJECT_ID, { bound, arrivals }, stale.bound ?? null);

      expect(await store.record({ ...stale, is_visible: false }, stale.revision)).toBe('recorded');
      expect(await store.readProject(PROJECT_ID)).toMatchObject({ is_visible: false, bound, arrivals });
    });

    test('of fifty writers at one revision exactly one is heard', async () => {
      const { store, accountId } = fresh();
      await store.record(ours(accountId), undefined);
      const next = ours(accountId, {}, { status: 'finished' });

      const results = await Promise.all(Array.from({ length: 50 }, () => store.record(next, 1)));

      expect(results.filter((result) => result === 'recorded')).toHaveLength(1);
    });

    test('reads more operations at once than one call takes', async () => {
      const { store, accountId } = fresh();
      const ids = Array.from({ length: 130 }, (_, index) => `operation-${index}`);
      for (const operation_id of ids) await store.record({ ...ours(accountId), operation_id }, undefined);

      const { records } = await store.readOperations(PROJECT_ID, [...ids, 'missing']);

      expect([...records.keys()].toSorted()).toEqual(ids.toSorted());
      expect(await store.findWork()).toHaveLength(130);
    });

    test('gives the keys of work page by page, each once, though the keys of the page before are gone', async () => {
      const { store, accountId } = fresh();
      const ids = Array.from({ length: 25 }, (_, index) => `operation-${String(index).padStart(2, '0')}`);
      for (const operation_id of ids) await store.record({ ...ours(accountId), operation_id }, undefined);
      const seen: string[] = [];
      const sizes: number[] = [];
      let start: Awaited<ReturnType<typeof store.findWorkPage>>['next'];
      do {
        const page = await store.findWorkPage({ limit: 10, start });
        const records = await store.readRecords(page.entries.map(({ key }) => key));
        for (const record of records) {
          const isFinished = record.kind === 'operation' && record.operation_id < 'operation-15';
          if (!isFinished) continue;
          const next = { ...record, status: 'finished' };
          await store.record(next, record.revision);
          await store.acknowledge(next, { through: next.revision, derived: next.revision });
        }
        seen.push(...page.entries.flatMap(({ operationId }) => operationId ?? []));
        sizes.push(page.entries.length);
        start = page.next;
      } while (start !== undefined);

      expect(seen.toSorted()).toEqual(ids);
      expect(Math.max(...sizes)).toBe(10);
      const ofAnother = await store.findWorkPage({ limit: 10, projectId: 'another-project-1' });
      expect(ofAnother).toEqual({ entries: [], next: undefined });
    });

    test('an item of another form fails by name and without its values', async () => {
      const { store, table, accountId } = fresh();
      await table.update({
        key: projectKey(accountId, PROJECT_ID),
        set: { kind: 'project', resume: 'confidential' },
      });

      await expect(store.readProject(PROJECT_ID)).rejects.toThrow(
        /PROJECT does not parse; look at: .*resume/,
      );
      await expect(store.readProject(PROJECT_ID)).rejects.not.toThrow(/confidential/);
    });

    test('gives the lease to one holder until it ends or is given back', async () => {
      const { store } = fresh();

      expect(await store.acquireLease('first', 60_000)).toBe(true);
      expect(await store.acquireLease('second', 60_000)).toBe(false);
      await store.releaseLease('second');
      expect(await store.acquireLease('second', 60_000)).toBe(false);
      await store.releaseLease('first');
      expect(await store.acquireLease('second', 60_000)).toBe(true);
    });
  });
}

function withoutUndefined<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
