import { beforeEach, describe, expect, test } from 'vitest';
import { createNudgeReader } from '../../functions/poller/nudges.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import { NUDGES_PARTITION } from '../../shared/store/keys.ts';
import { createLedgerStore } from '../../shared/store/ledger-store.ts';
import type { TablePartitions } from '../../shared/store/table.ts';
import { createNudge, nudgingTable } from '../../shared/store/wishes.ts';
import { aTelemetry, commandRecord } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';

const START_MS = Date.UTC(2026, 0, 15, 12);

let nowMs: number;
let memory: ReturnType<typeof createMemoryTable>;
let reader: ReturnType<typeof createNudgeReader>;
let logged: string[];
const clock = { now: () => nowMs, sleep: async () => {} };
const telemetry = aTelemetry({ log: (_level, event) => void logged.push(event) });

beforeEach(() => {
  nowMs = START_MS;
  logged = [];
  memory = createMemoryTable();
  reader = createNudgeReader(createMemoryPartitions(memory), clock);
});

/** Another process, such as an instance of the API. */
function another(skewMs = 0) {
  const own = { ...clock, now: () => nowMs + skewMs };
  const table = memory.as('api');
  const nudging = nudgingTable(table, createNudge(table, own), telemetry);
  return createBridgeStore(nudging, 'main', own);
}

describe('a process that leaves work', () => {
  test('nudges the account with a command, a wish, a repair and a replay', async () => {
    const acts = [
      () => another().record(commandRecord('a-1', 'request-1'), undefined),
      () => another().wishForReading('a-1', 0),
      () =>
        another().requestRepair({
          projectId: 'a-1',
          repairId: 'repair-1',
          since: '2026-01-15T11:00:00Z',
        } as never),
      () =>
        another().requestReplay({
          replay_id: 'replay-1',
          since: '2026-01-15T11:00:00.000Z',
          until: '2026-01-15T12:00:00.000Z',
        }),
    ];
    for (const act of acts) {
      nowMs += 20_000;
      await reader.read();
      await act();
      expect(await reader.read()).toEqual(['main']);
    }
  });

  test('nudges nobody with what belongs to no poller, nor with what commands use of the rate limit', async () => {
    const table = memory.as('api');
    await nudgingTable(table, createNudge(table, clock), telemetry).update({
      key: { pk: 'AUDIT#main#request-1', sk: 'AUDIT' },
      set: { kind: 'audit' },
    });
    await createLedgerStore(table, 'main').write({ given: { ra: [[1, 1]] }, lately: [] }, 0);

    expect(await reader.read()).toEqual([]);
  });

  test('nudges an account once for many writes of the same moment', async () => {
    const api = another();
    for (let request = 0; request < 20; request++)
      await api.record(commandRecord('a-1', `request-${request}`), undefined);

    expect(await reader.read()).toEqual(['main']);
  });

  test('has done its own write when the nudge fails, and says so', async () => {
    const table = memory.as('api');
    const nudging = nudgingTable(table, () => Promise.reject(new Error('busy')), telemetry);
    const api = createBridgeStore(nudging, 'main', clock);

    expect(await api.record(commandRecord('a-1', 'request-1'), undefined)).toBe('recorded');
    expect(logged).toEqual(['nudge.failed']);
  });
});

describe('a lane', () => {
  test('reads each nudge once', async () => {
    await another().wishForReading('a-1', 0);

    expect(await reader.read()).toEqual(['main']);
    nowMs += 1_000;
    expect(await reader.read()).toEqual([]);
  });

  test('reads what was written while it could not read', async () => {
    nowMs += 1_000;
    await another().wishForReading('a-1', 0);
    nowMs += 50_000;

    expect(await reader.read()).toEqual(['main']);
  });

  test.each([-3_000, 30_000])('reads the nudge of a process whose clock is %i ms ahead', async (skewMs) => {
    nowMs += 10_000;
    await reader.read();
    await another(skewMs).wishForReading('a-1', 0);

    expect(await reader.read()).toEqual(['main']);
  });

  test('begins to read a few seconds before its last look, and at most three pages', async () => {
    const asked: unknown[] = [];
    const partitions: TablePartitions = {
      async readPartition({ partition, start, mayLag }) {
        asked.push([partition, start?.['sk'], mayLag]);
        const sk = `2026-01-15T12:00:00.000Z#account-${asked.length}`;
        return { items: [{ pk: partition, sk }], next: { pk: partition, sk } };
      },
    };
    const lane = createNudgeReader(partitions, clock);
    nowMs += 10_000;

    expect(await lane.read()).toEqual(['account-1', 'account-2', 'account-3']);
    expect(asked).toEqual([
      [NUDGES_PARTITION, '2026-01-15T11:59:55.000Z#', true],
      [NUDGES_PARTITION, '2026-01-15T12:00:00.000Z#account-1', true],
      [NUDGES_PARTITION, '2026-01-15T12:00:00.000Z#account-2', true],
    ]);
  });

  test('passes over a nudge that names no account', async () => {
    const sk = '2026-01-15T12:00:00.000Z';
    const partitions = {
      readPartition: async () => ({ items: [{ pk: NUDGES_PARTITION, sk }], next: undefined }),
    };

    expect(await createNudgeReader(partitions, clock).read()).toEqual([]);
  });
});
