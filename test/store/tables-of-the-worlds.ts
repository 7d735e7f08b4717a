/** Opens the tables of both simulated worlds for the suites of the store, without faults, on a virtual clock that is always driven on. */

import type { Table, TablePartitions } from '../../shared/store/table.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';
import { deriveOptions, NO_FAULTS } from '../simulation/options.ts';
import { createFaultyTable, createLaggingIndex } from '../simulation/ports.ts';
import type { Process, Scheduler } from '../simulation/scheduler.ts';
import { createIndexCopy } from '../simulation/wide/cloud/index-copy.ts';
import { createSlowPartitions, createSlowTable } from '../simulation/wide/cloud/table.ts';
import { drawPlan } from '../simulation/wide/plan.ts';
import { createWideWorld } from '../simulation/wide/world.ts';
import { createWorld } from '../simulation/world.ts';

const CALL_MS_MAX = 1_000;
const owner: Process = { name: 'a store', isCrashed: false, clockSkewMs: 0, crashKind: 'never' };

export function tableOfTheCloseWorld(table: MemoryTable): Table {
  const world = createWorld({ ...deriveOptions(1), faults: NO_FAULTS }, 0);
  return driven(
    createFaultyTable(world, { table, index: createLaggingIndex(world), owner }),
    world.scheduler,
  );
}

export function tableOfTheWideWorld(table: MemoryTable): Table {
  const plan = drawPlan(1);
  const faults = Object.fromEntries(Object.keys(plan.faults).map((kind) => [kind, 0])) as typeof plan.faults;
  const world = createWideWorld({ ...plan, faults }, 0, undefined);
  const side = { table, index: createIndexCopy(world), writtenAtMs: new Map<string, number>(), putBack: [] };
  return driven(createSlowTable(world, side, { owner, role: undefined }), world.scheduler);
}

/** The same world leaves half of the keys of a read unread, and a read of a partition that may lag misses what was just written. */
export function troubledTableOfTheWideWorld(table: MemoryTable): {
  readonly table: Table;
  readonly partitions: TablePartitions;
} {
  const plan = drawPlan(1);
  const none = Object.fromEntries(Object.keys(plan.faults).map((kind) => [kind, 0])) as typeof plan.faults;
  const faults = { ...none, table_keys_unprocessed: 1, partition_read_late: 1 };
  const world = createWideWorld({ ...plan, faults, tableMs: [0, 0] }, 0, undefined);
  const side = { table, index: createIndexCopy(world), writtenAtMs: new Map<string, number>(), putBack: [] };
  // A call takes no time here, so that what was just written is younger than a read that lags.
  const port = createSlowPartitions(world, side, owner);
  const slow = createSlowTable(world, side, { owner, role: undefined });
  return {
    table: driven(slow, world.scheduler, 0),
    partitions: {
      readPartition: (query) => inTime(port.readPartition(query), world.scheduler, 0),
    },
  };
}

/** Every call lets its world go on until the call must have ended. */
function driven(table: Table, scheduler: Scheduler, callMsMax = CALL_MS_MAX): Table {
  const call = <T>(called: Promise<T>) => inTime(called, scheduler, callMsMax);
  return {
    get: (key) => call(table.get(key)),
    getMany: (keys) => call(table.getMany(keys)),
    update: (update) => call(table.update(update)),
    queryWork: (query) => call(table.queryWork(query)),
    queryWorkPage: (query) => call(table.queryWorkPage(query)),
  };
}

async function inTime<T>(call: Promise<T>, scheduler: Scheduler, callMsMax: number): Promise<T> {
  const [ended] = await Promise.allSettled([call, scheduler.runUntil(scheduler.now() + callMsMax)]);
  if (ended.status === 'rejected') throw ended.reason;
  return ended.value;
}
