import { describe, expect, test } from 'vitest';
import {
  adviceSentence,
  presentLanes,
  readLaneStatuses,
  writeLaneStatus,
} from '../../shared/accounts/lanes.ts';
import { laneStatusKey } from '../../shared/store/keys.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';
import { aLaneStatus } from './a-lane-status.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);

function setUp() {
  const table = createMemoryTable();
  return { table, read: () => readLaneStatuses(createMemoryPartitions(table)) };
}

describe('the statuses of lanes', () => {
  test('are read as they were written, in the order of their numbers, however many there are', async () => {
    const { table, read } = setUp();
    const set_aside = [{ account_id: 'a', failure_count: 2, until: '2026-01-15T12:02:00.000Z' }];
    const statuses = [0, 1, 2, 3, 10].map((lane) => aLaneStatus({ lane, set_aside }));
    for (const status of statuses.toReversed()) await writeLaneStatus(table, status);

    expect(await read()).toEqual(statuses);
  });

  test('replace the advice of before', async () => {
    const { table, read } = setUp();
    await writeLaneStatus(table, aLaneStatus({ advice: 'pin_account', advice_account_id: 'large' }));
    await writeLaneStatus(table, aLaneStatus());

    expect(await read()).toEqual([aLaneStatus()]);
  });

  test('expire a week after they were written', async () => {
    const { table } = setUp();
    await writeLaneStatus(table, aLaneStatus());

    expect((await table.get(laneStatusKey(0)))?.['expires_at']).toBe(NOON_MS / 1_000 + 7 * 86_400);
  });

  test('leave out an item that cannot be read, and name it', async () => {
    const { table } = setUp();
    await writeLaneStatus(table, aLaneStatus());
    await writeLaneStatus(table, aLaneStatus({ lane: 1 }));
    await table.update({ key: laneStatusKey(1), set: { load_percent: 'much' } });
    const noted: unknown[] = [];
    const read = await readLaneStatuses(createMemoryPartitions(table), (item) => void noted.push(item));

    expect(read).toEqual([aLaneStatus()]);
    expect(noted).toEqual([{ key: laneStatusKey(1), fields: ['load_percent'] }]);
  });

  test('of lanes that were taken away are left out after an hour', () => {
    const [present, gone] = [aLaneStatus(), aLaneStatus({ lane: 1, written_at: '2026-01-15T11:00:00.000Z' })];

    expect(presentLanes([present, gone], NOON_MS)).toEqual([present]);
  });
});

describe('the advice', () => {
  test.each([
    ['none', undefined],
    ['add_lane', /Raise "lanes".* by one/],
    ['pin_account', /account large a lane of its own.* lane 4/],
    ['add_memory', /more memory.*"poller_memory_mb"/],
  ] as const)('%s is said in a sentence', (advice, words) => {
    const sentence = adviceSentence({ lane: 4, advice, advice_account_id: 'large' });

    if (words === undefined) expect(sentence).toBeUndefined();
    else expect(sentence).toMatch(words);
  });
});
