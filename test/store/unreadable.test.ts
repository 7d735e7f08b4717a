/**
 * Tests items that this version cannot read, wholly or in part: what is reported of them, and that they stay as they
 * are.
 */

import { describe, expect, test } from 'vitest';
import { createTokenStore } from '../../shared/callers/tokens.ts';
import { createIdempotencyStore } from '../../shared/commands/idempotency-store.ts';
import { relayRecords } from '../../shared/protocol/relay-records.ts';
import { EMPTY_JOURNAL, pendingEntries } from '../../shared/records/journal.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { silentTelemetry, type Telemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import {
  accountStatusKey,
  idempotencyKey,
  leaseKey,
  ledgerKey,
  operationKey,
  tokenKey,
} from '../../shared/store/keys.ts';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import { parseRecord } from '../../shared/store/parse-record.ts';
import type { Attribute, Item } from '../../shared/store/table.ts';
import { createUnreadableNotes, isUnreadable, type UnreadableItem } from '../../shared/store/unreadable.ts';
import { aContext, anOperation, aRecord, NOON_MS } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { writeEveryKind } from './every-kind.ts';

const PROJECT_ID = anOperation().project_id;
const OPERATION_ID = anOperation().id;
const KEY = operationKey('main', PROJECT_ID, OPERATION_ID);
const clock = { now: () => NOON_MS, sleep: async () => {} };

function setUp() {
  const table = createMemoryTable();
  const noted: UnreadableItem[] = [];
  const note = (item: UnreadableItem) => void noted.push(item);
  return { table, noted, note, store: createBridgeStore(table, 'main', clock, note) };
}

const entriesOf = (item: Item | undefined) => item?.['entries'] as readonly Record<string, Attribute>[];

describe('an entry that a newer version wrote', () => {
  const ofTomorrow = { t: 'operation_forecast', i: 'an-id', r: 2, o: NOON_MS, likely: { ends: 'soon' } };

  /** Stores two readings and, between them, an entry of another version. */
  async function withAnEntryOfTomorrow({ published }: { published: number }) {
    const parts = setUp();
    const [first, last] = aRecord({}, { status: 'finished' }).entries;
    await parts.store.record({ ...aRecord({}, { status: 'finished' }), published }, undefined);
    const [one] = entriesOf(parts.table.sync.peek(KEY));
    const third = { ...one, q: 2, r: 3, i: String(last?.id), s: 'failed', of_tomorrow: { a: 1 } };
    await parts.table.update({
      key: KEY,
      set: { revision: 3, status: 'failed', entries: [one ?? null, ofTomorrow, third] },
    });
    return { ...parts, first, last };
  }

  test('stays in the item, at its position, when the item is written again', async () => {
    const { store, table } = await withAnEntryOfTomorrow({ published: 3 });
    const record = await store.readOperation(PROJECT_ID, OPERATION_ID);
    const next = decideNextRecord(record, anOperation({ status: 'finished' }), aContext());

    expect(next && (await store.record(next, record?.revision))).toBe('recorded');

    const entries = entriesOf(table.sync.peek(KEY));
    expect(entries.map(({ r }) => r)).toEqual([1, 2, 3, 4]);
    expect(entries[1]).toEqual(ofTomorrow);
    expect(entries[2]).toMatchObject({ of_tomorrow: { a: 1 } });
  });

  test('is noted by its position', async () => {
    const { store, noted } = await withAnEntryOfTomorrow({ published: 3 });
    await store.readOperation(PROJECT_ID, OPERATION_ID);

    expect(noted).toMatchObject([{ key: KEY, fields: [expect.stringMatching(/^entries\.1\./)] }]);
  });

  test('holds back what was recorded after it, and nothing before it', async () => {
    const { store } = await withAnEntryOfTomorrow({ published: 0 });
    const record = await store.readOperation(PROJECT_ID, OPERATION_ID);

    expect(record && pendingEntries(record).map(({ revision }) => revision)).toEqual([1]);
  });

  test('is never acknowledged by this version', async () => {
    const { store, table } = await withAnEntryOfTomorrow({ published: 0 });
    const bus = {
      publish: async (events: readonly unknown[]) => events.map(() => ({ kind: 'accepted' as const })),
    };
    for (let round = 0; round < 3; round++) {
      const record = await store.readOperation(PROJECT_ID, OPERATION_ID);
      if (record) await relayRecords({ store, bus, clock, telemetry: silentTelemetry }, [record]);
    }

    expect(table.sync.peek(KEY)).toMatchObject({ published: 1, revision: 3, work: 'main' });
  });
});

describe('an item of a newer version', () => {
  test('keeps attributes that this version does not know, whichever version writes it', async () => {
    const { store, table } = setUp();
    await store.record(aRecord(), undefined);
    await table.update({ key: KEY, set: { of_tomorrow: { a: [1, 'b'] } } });
    const record = await store.readOperation(PROJECT_ID, OPERATION_ID);
    const next = decideNextRecord(record, anOperation({ status: 'finished' }), aContext());
    if (next === undefined) throw new Error('Nothing changed');
    await store.record(next, record?.revision);
    await store.acknowledge(next, { through: next.revision, derived: next.revision });

    expect(table.sync.peek(KEY)).toMatchObject({ published: 2, of_tomorrow: { a: [1, 'b'] } });
  });

  test('is not taken for a missing one, whatever of it is gone', async () => {
    const { store, table } = setUp();
    await store.record(aRecord(), undefined);
    await table.update({ key: KEY, set: {}, remove: ['revision', 'entries', 'status'] });
    const damaged = table.sync.peek(KEY);

    const { records, unreadableIds } = await store.readOperations(PROJECT_ID, [OPERATION_ID]);
    expect([records.size, [...unreadableIds]]).toEqual([0, [OPERATION_ID]]);
    expect(await store.record(aRecord({}, { status: 'finished' }), undefined)).toBe('conflict');
    expect(table.sync.peek(KEY)).toEqual(damaged);
  });

  test.each([
    ['the last entry is cut', { entries: [] }],
    ['more is published than was recorded', { published: 7 }],
    ['its id is another one', { operation_id: 'another' }],
    ['it is of another kind', { kind: 'project', is_visible: true }],
  ])('is not read when %s', async (_name, set) => {
    const { store, table } = setUp();
    await store.record(aRecord(), undefined);
    await table.update({ key: KEY, set });

    await expect(store.readOperation(PROJECT_ID, OPERATION_ID)).rejects.toSatisfy(isUnreadable);
  });

  test('is left out of a read of many, which gives the others', async () => {
    const { store, table, noted } = setUp();
    await store.record(aRecord(), undefined);
    await store.record({ ...aRecord(), operation_id: 'another' }, undefined);
    await table.update({ key: KEY, set: { sequence: 'of tomorrow' } });
    const keys = [KEY, operationKey('main', PROJECT_ID, 'another')];

    expect(await store.readRecords(keys)).toMatchObject([{ operation_id: 'another' }]);
    expect(noted).toEqual([{ key: KEY, fields: ['sequence'] }]);
  });

  test('never throws while it is parsed and never shows a value, however it is damaged', async () => {
    const table = createMemoryTable();
    await writeEveryKind(table);
    const random = seededRandom(7);
    const values = [
      'confidential',
      -1,
      1e300,
      null,
      [],
      {},
      ['confidential'],
      [{ o: 1e300, r: 'confidential' }],
    ];
    for (const item of table.sync.items()) {
      for (const name of Object.keys(item).filter((each) => each !== 'pk' && each !== 'sk')) {
        for (let draw = 0; draw < 4; draw++) {
          const value = values[Math.floor(random.next() * values.length)];
          const { unreadable } = parseRecord({ ...item, [name]: value });
          expect(JSON.stringify(unreadable ?? {})).not.toContain('confidential');
        }
      }
    }
  });
});

describe('what is said of unreadable items', () => {
  function listen() {
    const lines: string[] = [];
    let count = 0;
    const telemetry: Telemetry = {
      log: (level, event, fields = {}) =>
        void lines.push([level, event, fields['item'], fields['fields']].join(' ')),
      measure: (metric, value) => {
        if (metric === 'ItemsUnreadable') count += value;
      },
    };
    return { lines, count: () => count, note: createUnreadableNotes(telemetry) };
  }

  test('is a line for each key and a number for each time', () => {
    const { lines, count, note } = listen();
    for (let time = 0; time < 3; time++) note({ key: KEY, fields: ['status', 'sequence'] });

    expect(lines).toEqual([`error item.unreadable ${KEY.pk} / ${KEY.sk} status, sequence`]);
    expect(count()).toBe(3);
  });

  test('has a bound, and says when it is met', () => {
    const { lines, count, note } = listen();
    for (let number = 0; number < 2_000; number++)
      note({ key: { pk: 'A#main', sk: `${number}` }, fields: [] });

    expect(lines).toHaveLength(1_001);
    expect(lines.at(-1)).toContain('item.unreadable_unnamed');
    expect(count()).toBe(2_000);
  });
});

describe('items beside the protocol', () => {
  test('a lease whose end cannot be read holds no process up', async () => {
    const { table, noted, note } = setUp();
    const store = createBridgeStore(table.as('poller'), 'main', clock, note);
    await table.update({ key: leaseKey('main'), set: { holder: 'somebody', expires_at_ms: 'for ever' } });

    expect(await store.acquireLease('another', 1_000)).toBe(true);
    expect(await store.acquireLease('a third', 1_000)).toBe(false);
    expect(noted).toEqual([{ key: leaseKey('main'), fields: ['expires_at_ms'] }]);
  });

  const token = {
    token_id: 'a-token',
    account_id: 'main',
    client_id: 'an-app',
    hash: 'a'.repeat(64),
    scopes: ['operations:read', 'projects:read'] as const,
    created_at: new Date(NOON_MS).toISOString(),
    expires_at_ms: NOON_MS + 1_000,
  };

  test('a token with a scope of a newer version keeps the others', async () => {
    const { table, note } = setUp();
    const tokens = createTokenStore(table, clock, note);
    await tokens.create({ ...token, scopes: [...token.scopes] });
    await table.update({ key: tokenKey('a-token'), set: { scopes: ['operations:read', 'moon:write'] } });

    expect((await tokens.read('a-token'))?.scopes).toEqual(['operations:read']);
  });

  test('a token that cannot be read is not valid, and is noted', async () => {
    const { table, noted, note } = setUp();
    const tokens = createTokenStore(table, clock, note);
    await tokens.create({ ...token, scopes: [...token.scopes] });
    await table.update({ key: tokenKey('a-token'), set: { revoked_at: 17 } });

    expect(await tokens.read('a-token')).toBeUndefined();
    expect(noted).toEqual([{ key: tokenKey('a-token'), fields: ['revoked_at'] }]);
  });

  test.each([
    ['a state of a newer version', { state: 'queued' }, []],
    ['no state at all', {}, ['state']],
  ])('a command under an Idempotency-Key with %s is never sent again', async (_name, set, remove) => {
    const { table, noted, note } = setUp();
    const idempotency = createIdempotencyStore(table, clock, note);
    const attempt = { keyHash: 'a-hash', fingerprint: 'a-request', holder: 'first' };
    await idempotency.claim(attempt, 60_000);
    await table.update({ key: idempotencyKey('a-hash'), set, remove });
    const damaged = table.sync.peek(idempotencyKey('a-hash'));

    expect(await idempotency.claim({ ...attempt, holder: 'second' }, 60_000)).toEqual({ kind: 'unknown' });
    expect(table.sync.peek(idempotencyKey('a-hash'))).toEqual(damaged);
    expect(noted).toMatchObject([{ key: idempotencyKey('a-hash') }]);
  });

  test('a ledger that has another form rejects, so that everybody keeps to its own part', async () => {
    const { table, noted, note } = setUp();
    await table.update({ key: ledgerKey('main'), set: { ledger_version: 3, given: 'many' } });

    await expect(createLedgerStore(table, 'main', note).read()).rejects.toSatisfy(isUnreadable);
    expect(noted).toHaveLength(1);
  });

  test('a status is read field by field', async () => {
    const { table, noted, note } = setUp();
    await writeEveryKind(table);
    await table.update({ key: accountStatusKey('main'), set: { points: 'of tomorrow', learned: 7 } });

    const status = await readAccountStatus(table, 'main', note);

    expect(status).toMatchObject({ points: [], project_count: 3 });
    expect(status?.learned).toBeUndefined();
    expect(noted).toEqual([{ key: accountStatusKey('main'), fields: ['learned', 'points'] }]);
  });

  test('an empty journal is whole', () => {
    expect(pendingEntries(EMPTY_JOURNAL)).toEqual([]);
  });
});
