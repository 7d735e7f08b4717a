/** Opens the tables of both simulated worlds for the suites of the store, without faults, on a virtual clock that is always driven on. */

import type { Table } from '../../shared/store/table.ts';
import type { MemoryTable } from '../simulation/memory-table.ts';
import { deriveOptions, NO_FAULTS } from '../simulation/options.ts';
import { createFaultyTable, createLaggingIndex } from '../simulation/ports.ts';
import type { Process, Scheduler } from '../simulation/scheduler.ts';
import { createIndexCopy } from '../simulation/wide/cloud/index-copy.ts';
import { createSlowTable } from '../simulation/wide/cloud/table.ts';
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
  const side = { table, index: createIndexCopy(world) };
  return driven(createSlowTable(world, side, { owner, role: undefined }), world.scheduler);
}

/** Every call lets its world go on until the call must have ended. */
function driven(table: Table, scheduler: Scheduler): Table {
  const inTime = async <T>(call: Promise<T>): Promise<T> => {
    const [ended] = await Promise.allSettled([call, scheduler.runUntil(scheduler.now() + CALL_MS_MAX)]);
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  };
  return {
    get: (key) => inTime(table.get(key)),
    getMany: (keys) => inTime(table.getMany(keys)),
    update: (update) => inTime(table.update(update)),
    queryWork: (query) => inTime(table.queryWork(query)),
    queryWorkPage: (query) => inTime(table.queryWorkPage(query)),
  };
}
