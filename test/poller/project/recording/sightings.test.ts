import { describe, expect, test } from 'vitest';
import { emptyMemory } from '../../../../functions/poller/project/memory/project-memory.ts';
import { endedOperations } from '../../../../functions/poller/project/recording/ended-operations.ts';
import { createSightings } from '../../../../functions/poller/project/recording/sightings.ts';
import type { Timestamp } from '../../../../shared/core/time/timestamp.ts';
import { anOperation, aRecord, NOON_MS } from '../../../builders.ts';

const CREATED_AT = '2026-01-15T11:59:50.000000000Z' as Timestamp;

function setUp(watermark?: Timestamp) {
  const memory = emptyMemory();
  const clock = { now: () => NOON_MS, sleep: async () => {} };
  return { memory, sightings: createSightings(clock, memory, watermark) };
}

const createdAt = (time: string) => ({ id: time, created_at: `2026-01-15T${time}Z` });

describe('a row that a poll sees', () => {
  test('counts as newer when it was created after the watermark, and without a watermark none does', () => {
    const rows = [createdAt('11:59:49'), createdAt('11:59:50'), createdAt('11:59:51')].map(anOperation);
    const [above, none] = [setUp(CREATED_AT).sightings, setUp().sightings];
    for (const row of [...rows, ...rows]) {
      above.takeRow(row);
      none.takeRow(row);
    }

    expect([above.newerRowCount(), none.newerRowCount()]).toEqual([1, 0]);
  });

  test('without a readable time was created at no known time, and is not newer', () => {
    const { sightings } = setUp(CREATED_AT);
    sightings.takeRow(anOperation({ id: 'a', created_at: 'yesterday' }));

    expect([sightings.createdAtOf('a'), sightings.newerRowCount()]).toEqual([undefined, 0]);
  });

  test('was read now, which is remembered beyond the poll while the operation is open', () => {
    const { memory, sightings } = setUp();
    sightings.takeRow(anOperation({ id: 'open', status: 'running' }));
    sightings.takeRow(anOperation({ id: 'ended', status: 'finished' }));

    expect(['open', 'ended', 'unseen'].map(sightings.hasRead)).toEqual([true, true, false]);
    expect([...memory.readAtMs]).toEqual([['open', NOON_MS]]);
    expect(sightings.createdAtOf('open')).toBe(CREATED_AT);
  });

  test('shows which operations were started with the creation of their branch', () => {
    const { sightings } = setUp();
    const creation = anOperation({ id: 'create', action: 'create_branch' });
    for (const row of [
      anOperation({ id: 'start', action: 'start_compute' }),
      anOperation({ id: 'elsewhere', branch_id: 'br-another' }),
      creation,
    ])
      sightings.takeRow(row);

    expect(sightings.startedWith(creation)).toEqual(['start']);
    expect(setUp().sightings.startedWith(creation)).toEqual([]);
  });
});

test('the ended operations of a poll are those that it remembers as settled and those that it has recorded, with a readable time', () => {
  const { sightings } = setUp();
  for (const row of [
    anOperation({ id: 'settled' }),
    anOperation({ id: 'no time', created_at: 'yesterday' }),
  ]) {
    sightings.takeRow(row);
    sightings.takeSettled(row.id, { status: 'finished', failures_count: 0 });
  }
  const records = [
    aRecord({ id: 'ended', status: 'finished' }),
    aRecord({ id: 'open', status: 'running' }),
    aRecord({ id: 'ended, no time', status: 'finished', created_at: 'yesterday' }),
  ];

  expect(endedOperations(new Map(records.map((record) => [record.operation_id, record])), sightings)).toEqual(
    [
      { id: 'settled', createdAt: CREATED_AT },
      { id: 'ended', createdAt: CREATED_AT },
    ],
  );
});
