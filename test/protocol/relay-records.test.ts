import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BusEvent } from '../../shared/events/render-event.ts';
import {
  createRelayLedger,
  PUBLISH_CALLS_AT_ONCE,
  type RelayDeps,
  relayRecords,
} from '../../shared/protocol/relay-records.ts';
import { decideHealth, firstAccountRecord } from '../../shared/records/account-record.ts';
import { BATCH_ENTRIES_MAX, type EntryOutcome, pendingEntries } from '../../shared/records/journal.ts';
import type { Acknowledged, JournalRecord } from '../../shared/records/journal-record.ts';
import {
  decideNextRecord,
  type Operation,
  type OperationRecord,
} from '../../shared/records/operation-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { keyOf } from '../../shared/store/items.ts';
import { parkedKey } from '../../shared/store/keys.ts';
import { aContext, anOperation, NOON_MS } from '../builders.ts';
import { aStore } from './store-under-test.ts';

const ACCEPTED: EntryOutcome = { kind: 'accepted' };
const RETRY: EntryOutcome = { kind: 'retry', code: 'ThrottlingException' };
const REFUSED: EntryOutcome = { kind: 'refused', code: 'EntryTooLarge' };

const idOf = ({ detail }: BusEvent): string => (JSON.parse(detail) as { id: string }).id;

/** Sets up a bus that answers what `answer` says, and remembers the calls. */
function setUp(answer: (event: BusEvent) => EntryOutcome = () => ACCEPTED) {
  const { store, table, clock } = aStore(() => NOON_MS);
  const calls: (readonly BusEvent[])[] = [];
  const logs: Readonly<Record<string, unknown>>[] = [];
  const measures: (readonly [string, number])[] = [];
  const deps: RelayDeps = {
    bus: {
      publish: async (events) => {
        calls.push(events);
        return events.map(answer);
      },
    },
    store,
    clock,
    telemetry: {
      log: (level, event, fields) => void logs.push({ level, event, ...fields }),
      measure: (metric, value) => void measures.push([metric, value]),
    },
  };
  const published = () => calls.flat().map(idOf);
  const storedOf = (record: OperationRecord) => store.readOperation(record.project_id, record.operation_id);
  return { deps, store, table, calls, logs, measures, published, storedOf };
}

/** Stores a record with one event per reading, none of which is published. */
async function stored(
  { store }: Pick<ReturnType<typeof setUp>, 'store'>,
  id: string,
  readings: readonly Partial<Operation>[] = [{}],
): Promise<OperationRecord> {
  let record: OperationRecord | undefined;
  for (const reading of readings) {
    const next = decideNextRecord(record, anOperation({ id, ...reading }), aContext());
    if (next !== undefined) await store.record(next, record?.revision);
    record = next ?? record;
  }
  if (record === undefined) throw new Error('No reading changed anything');
  return record;
}

const THREE = [{ status: 'scheduling' }, { status: 'running' }, { status: 'finished' }];

const idsOf = (...records: readonly JournalRecord[]) =>
  records.flatMap(({ entries }) => entries.map(({ id }) => id));

describe('what the bus accepts', () => {
  test('is acknowledged in the table, and the records are handed back as they are stored now', async () => {
    const world = setUp();
    const record = await stored(world, 'a', THREE);

    const report = await relayRecords(world.deps, [record]);

    expect(report).toEqual({
      publishedCount: 3,
      unpublishedCount: 0,
      parkedCount: 0,
      underivedCount: 0,
      records: [{ ...record, published: 3 }],
    });
    expect(world.published()).toEqual(idsOf(record));
    expect(await world.storedOf(record)).toMatchObject({ published: 3 });
  });

  test('is counted over all records, and each record comes back once', async () => {
    const world = setUp();
    const records = [await stored(world, 'a'), await stored(world, 'b', THREE), await stored(world, 'c')];

    const report = await relayRecords(world.deps, records);

    expect(report).toMatchObject({ publishedCount: 5, unpublishedCount: 0 });
    expect(report.records).toEqual(records.map((record) => ({ ...record, published: record.revision })));
  });

  test('goes out in few calls, and all entries of a record in one of them', async () => {
    const world = setUp();
    const records = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => stored(world, id, THREE)));

    await relayRecords(world.deps, records);

    expect(world.calls.map((events) => events.map(idOf))).toEqual([
      idsOf(...records.slice(0, 3)),
      idsOf(...records.slice(3)),
    ]);
  });

  test('may be the entries of any kind of record', async () => {
    const world = setUp();
    const healthy = firstAccountRecord('main', '2026-01-15T00:00:00.000000000Z' as Timestamp);
    const account = decideHealth(healthy, 'key_rejected', NOON_MS);
    if (account === undefined) throw new Error('nothing changed');
    await world.store.record(account, undefined);

    await relayRecords(world.deps, [account]);

    expect(await world.store.readAccount()).toMatchObject({ published: 1, degraded_reason: 'key_rejected' });
  });

  test('is published alone: what is acknowledged already does not go out again, and is handed back untouched', async () => {
    const world = setUp();
    const published = { ...(await stored(world, 'a')), published: 1 };
    const half = { ...(await stored(world, 'b', THREE)), published: 2 };

    const report = await relayRecords(world.deps, [published, half]);

    expect(world.published()).toEqual([half.entries[2]?.id]);
    expect(report).toMatchObject({ publishedCount: 1, unpublishedCount: 0 });
    expect(report.records).toEqual([published, { ...half, published: 3 }]);
  });

  test('nothing is not a call of the bus', async () => {
    const world = setUp();
    const published = { ...(await stored(world, 'a')), published: 1 };

    expect(await relayRecords(world.deps, [published])).toEqual({
      publishedCount: 0,
      unpublishedCount: 0,
      parkedCount: 0,
      underivedCount: 0,
      records: [published],
    });
    expect(world.calls).toEqual([]);
  });
});

describe('what the bus does not take now', () => {
  test('is left for the next run, with everything behind it in its record and nothing of another one', async () => {
    const world = setUp((event) =>
      event.detail.includes('"running"') && event.detail.includes('"a"') ? RETRY : ACCEPTED,
    );
    const [a, b] = [await stored(world, 'a', THREE), await stored(world, 'b', THREE)];

    const report = await relayRecords(world.deps, [a, b]);

    expect(report).toEqual({
      publishedCount: 4,
      unpublishedCount: 2,
      parkedCount: 0,
      underivedCount: 1,
      records: [
        { ...a, published: 1, derived: 0 },
        { ...b, published: 3 },
      ],
    });
    expect(await world.storedOf(a)).toMatchObject({ published: 1 });
    expect(await world.storedOf(b)).toMatchObject({ published: 3 });
  });

  test('counts as not published when it is the first of its record, and nothing is written', async () => {
    const world = setUp(() => RETRY);
    const record = await stored(world, 'a', THREE);
    const before = world.table.sync.peek(keyOf(record));

    const report = await relayRecords(world.deps, [record]);

    expect(report).toEqual({
      publishedCount: 0,
      unpublishedCount: 3,
      parkedCount: 0,
      underivedCount: 0,
      records: [record],
    });
    expect(world.table.sync.peek(keyOf(record))).toEqual(before);
    expect(world.logs).toEqual([]);
  });

  test('is whatever the bus gives no answer for', async () => {
    const world = setUp();
    const record = await stored(world, 'a', THREE);
    const bus = { publish: async () => [ACCEPTED] };

    const report = await relayRecords({ ...world.deps, bus }, [record]);

    expect(report).toMatchObject({ publishedCount: 1, unpublishedCount: 2 });
    expect(await world.storedOf(record)).toMatchObject({ published: 1 });
  });

  test('is free for the next attempt also when the bus throws', async () => {
    const world = setUp();
    const record = await stored(world, 'a');
    const ledger = createRelayLedger();
    const bus = {
      publish: async () => {
        throw new Error('a mistake of the adapter');
      },
    };

    await expect(relayRecords({ ...world.deps, bus, ledger }, [record])).rejects.toThrow('a mistake');
    const report = await relayRecords({ ...world.deps, ledger }, [record]);

    expect(report).toMatchObject({ publishedCount: 1 });
  });
});

describe('what the bus refuses', () => {
  test('is set aside with its event and its code, and what stands behind it goes on', async () => {
    const world = setUp((event) => (event.detail.includes('"status":"running"') ? REFUSED : ACCEPTED));
    const record = await stored(world, 'a', THREE);

    const report = await relayRecords(world.deps, [record]);

    const parked = world.table.sync.peek(parkedKey(keyOf(record), 2));
    expect(parked).toMatchObject({ kind: 'parked', code: 'EntryTooLarge' });
    const event = JSON.parse(parked?.['event'] as string) as BusEvent;
    expect(event.detailType).toBe('Operation State Changed');
    expect(idOf(event)).toBe(record.entries[1]?.id);
    expect(report).toMatchObject({ publishedCount: 2, unpublishedCount: 0, parkedCount: 1 });
    expect(await world.storedOf(record)).toMatchObject({ published: 3 });
  });

  test('is not reported as published', async () => {
    const world = setUp((event) => (event.detail.includes('"status":"running"') ? REFUSED : ACCEPTED));
    const record = await stored(world, 'a', THREE);
    const revisions: number[] = [];
    const onPublished = ({ revision }: { readonly revision: number }) => void revisions.push(revision);

    await relayRecords({ ...world.deps, onPublished }, [record]);

    expect(revisions).toEqual([1, 3]);
  });

  test('is reported to people by a log line and by the metric of the alarm', async () => {
    const world = setUp(() => REFUSED);
    const record = await stored(world, 'a');

    await relayRecords(world.deps, [record]);

    expect(world.logs).toEqual([
      { level: 'error', event: 'event.parked', event_id: record.entries[0]?.id, code: 'EntryTooLarge' },
    ]);
    expect(world.measures).toEqual([['EventsParked', 1]]);
  });

  test('is not acknowledged when it could not be set aside', async () => {
    const world = setUp(() => REFUSED);
    const record = await stored(world, 'a');
    const store = {
      ...world.store,
      park: async () => {
        throw new RangeError('the table is busy');
      },
    };

    const report = await relayRecords({ ...world.deps, store }, [record]);

    expect(report).toEqual({
      publishedCount: 0,
      unpublishedCount: 1,
      parkedCount: 0,
      underivedCount: 0,
      records: [record],
    });
    expect(await world.storedOf(record)).toMatchObject({ published: 0 });
    expect(world.logs).toEqual([{ level: 'warn', event: 'acknowledgement.unknown', reason: 'RangeError' }]);
  });

  test('behind an entry that must be sent again is not set aside yet', async () => {
    const world = setUp((event) => (event.detail.includes('"scheduling"') ? RETRY : REFUSED));
    const record = await stored(world, 'a', [{ status: 'scheduling' }, { status: 'error' }]);

    const report = await relayRecords(world.deps, [record]);

    expect(report).toMatchObject({ publishedCount: 0, unpublishedCount: 2, parkedCount: 0 });
    expect(world.measures).toEqual([]);
  });
});

describe('an operation from which something derives', () => {
  const START = { action: 'start_compute', status: 'finished' };

  test('is published while the bus does not take what derives from it, and keeps its place in the index', async () => {
    const world = setUp(({ detailType }) => (detailType === 'Compute State Changed' ? RETRY : ACCEPTED));
    const [start, other] = [await stored(world, 'start', [START]), await stored(world, 'other')];

    const report = await relayRecords(world.deps, [start, other]);

    expect(report).toMatchObject({ publishedCount: 2, unpublishedCount: 1, underivedCount: 1 });
    expect(await world.storedOf(start)).toMatchObject({ published: 1, derived: 0 });
    expect(await world.storedOf(other)).toMatchObject({ published: 1 });
  });

  test('does not count as derived while another loop publishes what derives from it, because that may fail', async () => {
    const world = setUp();
    const ledger = createRelayLedger();
    const start = await stored(world, 'start', [START]);
    const { account_id, project_id, endpoint_id = '' } = start;
    ledger.claim({ kind: 'compute', account_id, project_id, endpoint_id } as JournalRecord);

    const report = await relayRecords({ ...world.deps, ledger }, [start]);

    expect(report).toMatchObject({ underivedCount: 1 });
    expect(await world.storedOf(start)).toMatchObject({ published: 1, derived: 0 });
    expect(await world.store.findWork()).toHaveLength(1);
  });

  test('costs no read when the relay is to stop before it begins', async () => {
    const world = setUp();
    let reads = 0;
    const store: RelayDeps['store'] = {
      ...world.store,
      readDerived: async (keys) => {
        reads += 1;
        return world.store.readDerived(keys);
      },
    };

    await relayRecords(
      { ...world.deps, store },
      [await stored(world, 'start', [START])],
      AbortSignal.abort(),
    );

    expect(reads).toBe(0);
  });

  test('is published, and what derives from it is left to the next run, when the relay is to stop meanwhile', async () => {
    const world = setUp();
    const stop = new AbortController();
    const records = [await stored(world, 'start', [START]), await stored(world, 'other')];
    const store: RelayDeps['store'] = {
      ...world.store,
      record: async (record, revision) => {
        stop.abort();
        return world.store.record(record, revision);
      },
    };

    const report = await relayRecords({ ...world.deps, store }, records, stop.signal);

    expect(report).toMatchObject({ publishedCount: 3, unpublishedCount: 0, underivedCount: 0 });
  });
});

describe('an acknowledgement that fails', () => {
  test('counts its entries as not published, and holds up no other record', async () => {
    const world = setUp();
    const [a, b] = [await stored(world, 'a', THREE), await stored(world, 'b')];
    const store = {
      ...world.store,
      acknowledge: async (record: JournalRecord, counted: Acknowledged) => {
        if (record === a) throw new Error('the table is busy');
        await world.store.acknowledge(record, counted);
      },
    };

    const report = await relayRecords({ ...world.deps, store }, [a, b]);

    expect(report).toEqual({
      publishedCount: 1,
      unpublishedCount: 3,
      parkedCount: 0,
      underivedCount: 0,
      records: [a, { ...b, published: 1 }],
    });
    expect(world.logs).toEqual([{ level: 'warn', event: 'acknowledgement.unknown', reason: 'Error' }]);
  });
});

describe('two relays of one process', () => {
  test('publish an entry once, and only the one that published it counts it', async () => {
    const world = setUp();
    const ledger = createRelayLedger();
    const [a, b] = [await stored(world, 'a'), await stored(world, 'b')];

    const [first, second] = await Promise.all([
      relayRecords({ ...world.deps, ledger }, [a]),
      relayRecords({ ...world.deps, ledger }, [a, b]),
    ]);

    expect(world.published().toSorted()).toEqual(idsOf(a, b).toSorted());
    expect(first).toMatchObject({ publishedCount: 1, unpublishedCount: 0 });
    expect(second).toEqual({
      publishedCount: 1,
      unpublishedCount: 0,
      parkedCount: 0,
      underivedCount: 0,
      records: [{ ...b, published: 1 }, a],
    });
  });

  test('leave a record wholly to the one that is publishing it: no call is made for it', async () => {
    const world = setUp();
    const ledger = createRelayLedger();
    const record = await stored(world, 'a');
    ledger.claim(record);

    const report = await relayRecords({ ...world.deps, ledger }, [record]);

    expect(report).toEqual({
      publishedCount: 0,
      unpublishedCount: 0,
      parkedCount: 0,
      underivedCount: 0,
      records: [record],
    });
    expect(world.calls).toEqual([]);
  });

  test('one after the other: what the first has acknowledged, the second knows and does not repeat', async () => {
    const world = setUp();
    const ledger = createRelayLedger();
    const record = await stored(world, 'a', THREE);

    await relayRecords({ ...world.deps, ledger }, [record]);
    const again = await relayRecords({ ...world.deps, ledger }, [record]);

    expect(world.published()).toEqual(idsOf(record));
    expect(again).toMatchObject({ publishedCount: 0, unpublishedCount: 0, records: [{ published: 3 }] });
  });

  test('without a common ledger each publishes what it was given', async () => {
    const world = setUp();
    const record = await stored(world, 'a');

    await relayRecords(world.deps, [record]);
    await relayRecords(world.deps, [record]);

    expect(world.published()).toEqual([...idsOf(record), ...idsOf(record)]);
  });

  test('while one waits for its turn, what the other has published meanwhile goes out only once', async () => {
    const gate = Promise.withResolvers<void>();
    const world = setUp();
    const ledger = createRelayLedger();
    const large = await Promise.all(
      Array.from({ length: PUBLISH_CALLS_AT_ONCE }, (_, place) =>
        stored(world, `large-${place}`, failures(10)),
      ),
    );
    const last = await stored(world, 'last', failures(10));
    const slowBus = {
      publish: async (events: readonly BusEvent[]) => {
        await gate.promise;
        return world.deps.bus.publish(events);
      },
    };

    const waiting = relayRecords({ ...world.deps, bus: slowBus, ledger }, [...large, last]);
    await relayRecords({ ...world.deps, ledger }, [last]);
    gate.resolve();
    const report = await waiting;

    expect(world.published().filter((id) => idsOf(last).includes(id))).toEqual(idsOf(last));
    expect(report.publishedCount).toBe(40);
    expect(report.records.at(-1)).toMatchObject({ published: 10 });
  });
});

const failures = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ status: 'failed', failures_count: index + 1 }));

describe('a relay of many records', () => {
  const MANY = PUBLISH_CALLS_AT_ONCE * 3;
  const full = (world: ReturnType<typeof setUp>) =>
    Promise.all(
      Array.from({ length: MANY }, (_, place) => stored(world, `${place}`, failures(BATCH_ENTRIES_MAX))),
    );

  test('has four calls of the bus under way at once, never more, and sends the rest as they end', async () => {
    const world = setUp();
    const records = await full(world);
    let [underWay, most] = [0, 0];
    const bus = {
      publish: async (events: readonly BusEvent[]) => {
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise((resolve) => setImmediate(resolve));
        underWay -= 1;
        return world.deps.bus.publish(events);
      },
    };

    const report = await relayRecords({ ...world.deps, bus }, records);

    expect(most).toBe(PUBLISH_CALLS_AT_ONCE);
    expect(report).toMatchObject({ publishedCount: MANY * BATCH_ENTRIES_MAX, unpublishedCount: 0 });
  });

  test('that is to stop sends what fits into its first calls, and says how much is left', async () => {
    const world = setUp();
    const records = await full(world);

    const report = await relayRecords(world.deps, records, AbortSignal.abort());

    expect(world.calls.length).toBe(PUBLISH_CALLS_AT_ONCE);
    expect(report).toMatchObject({ publishedCount: 40, unpublishedCount: (MANY - 4) * BATCH_ENTRIES_MAX });
    expect(report.records.map(({ published }) => published)).toEqual(
      records.map((_, place) => (place < PUBLISH_CALLS_AT_ONCE ? BATCH_ENTRIES_MAX : 0)),
    );
  });
});

test('whatever the bus answers: in every record the acknowledged entries are those before the first that must go again', async () => {
  const outcome = fc.constantFrom(ACCEPTED, RETRY, REFUSED);
  const journals = fc.array(fc.array(outcome, { minLength: 1, maxLength: 12 }), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(journals, async (answers) => {
      const answerOf = new Map<string, EntryOutcome>();
      const world = setUp((event) => answerOf.get(idOf(event)) ?? ACCEPTED);
      const records = await Promise.all(
        answers.map(({ length }, place) => stored(world, `${place}`, failures(length))),
      );
      for (const [place, record] of records.entries())
        for (const [index, entry] of record.entries.entries())
          answerOf.set(entry.id, answers[place]?.[index] ?? ACCEPTED);

      const report = await relayRecords(world.deps, records);

      const through = answers.map((each) => {
        const first = each.indexOf(RETRY);
        return first === -1 ? each.length : first;
      });
      const now = await Promise.all(records.map(world.storedOf));
      expect(now.map((record) => record?.published)).toEqual(through);
      expect(report.records.map(({ published }) => published)).toEqual(through);
      const parked = answers.flatMap((each, place) =>
        each.slice(0, through[place]).filter((one) => one === REFUSED),
      );
      expect(report.parkedCount).toBe(parked.length);
      expect(report.publishedCount + report.parkedCount).toBe(through.reduce((sum, count) => sum + count, 0));
      const pendingCount = now.flatMap((record) => (record ? pendingEntries(record) : [])).length;
      expect(report.unpublishedCount).toBe(pendingCount);
    }),
    { numRuns: 50 },
  );
});
