/** Builds the poller of one process of the close world as production does, with the bounds of the run. */

import { type Account, createAccount } from '../../functions/poller/create-account.ts';
import { pollAccountRequest } from '../../shared/config/poller-config.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import type { Table } from '../../shared/store/table.ts';
import { createMemoryIndexes } from '../store/memory-indexes.ts';
import { createMemoryPartitions } from '../store/memory-partitions.ts';
import { createCloseHttp } from './close-http.ts';
import { ACCOUNT_ID, type Stage } from './close-stage.ts';
import { createFaultyBus, createFaultyTable } from './ports.ts';
import type { Process } from './scheduler.ts';

export type { Account };

/** No rate limit is met in this world, so that as many faults as possible strike in a few minutes. */
const REQUESTS_PER_MINUTE = 10_000;

export function createClosePoller(stage: Stage, owner: Process): Account {
  const { world, model, table, index, delivered } = stage;
  const { options, random, scheduler } = world;
  const settings = pollAccountRequest.parse({
    account_id: ACCOUNT_ID,
    upstream_base_url: 'https://upstream.simulated/api/v2',
    key_secret_id: 'upstream-key',
    requests_per_minute: REQUESTS_PER_MINUTE,
    command_requests_per_minute: 0,
    limit_requests_per_minute: 2 * REQUESTS_PER_MINUTE,
    poll_interval_seconds: options.pollIntervalMs / 1_000,
    backfill: options.backfill,
  });
  const adapters = {
    table: withoutLease(createFaultyTable(world, { table, index, owner })),
    indexes: createMemoryIndexes(table),
    partitions: createMemoryPartitions(table),
    bus: createFaultyBus(world, delivered, owner),
    http: createCloseHttp(world, model, owner),
    lateness: undefined,
    watchedAccountIds: () => [settings.account_id],
    keyOf: rotatingKey,
    telemetryOf: () => ({ ...silentTelemetry, flush() {} }),
  };
  return createAccount(settings, adapters, {
    clock: scheduler.clockOf(owner),
    random,
    newId: () => `${owner.name}-${random.next()}`,
    monotonicMs: () => scheduler.now(),
    bounds: boundsOf(stage),
  });
}

function boundsOf({ world: { options } }: Stage) {
  const { firstPageRows, widePageRows, pagesMax, overlapMs, pollIntervalMs } = options;
  const { boundStepRows, sweepIntervalMs } = options;
  return {
    options: {
      walkLimits: { firstPageRows, widePageRows, pagesMax, overlapMs },
      boundStepRows,
      sweepIntervalMs,
      stallThresholdsMs: { default: [2 * pollIntervalMs, 20 * pollIntervalMs] },
    },
    limits: { pollsAtOnce: 2, failingMsMax: 20_000 },
    planner: {
      failureBackoffMsMax: 10_000,
      listing: { usualIntervalMs: 20_000, hintIntervalMsMin: pollIntervalMs },
    },
  };
}

/** A refused key is replaced at once, so that a wrong 401 ends nothing. */
function rotatingKey() {
  let count = 0;
  return {
    current: async () => createSecret(`key-${count}`),
    async refresh() {
      count += 1;
      return createSecret(`key-${count}`);
    },
  };
}

/** Safety must not depend on the lease, so every process gets it. */
function withoutLease(table: Table): Table {
  return {
    ...table,
    async update(update) {
      if (update.key.sk !== 'LEASE') return table.update(update);
      const { condition: _ignored, ...unconditional } = update;
      return table.update(unconditional);
    },
  };
}
