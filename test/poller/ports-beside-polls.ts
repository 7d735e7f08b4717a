/** Builds what an account keeps beside its polls, with production's own adapters on the table of a test. */

import type { AccountDeps } from '../../functions/poller/account/account-deps.ts';
import { createNameKeeper } from '../../functions/poller/account/discovery/keep-names.ts';
import { createInsights } from '../../functions/poller/account/insights.ts';
import { createTally } from '../../functions/poller/account/status/publish-status.ts';
import { createUsageWatch } from '../../functions/poller/account/usage.ts';
import type { NudgeBell } from '../../functions/poller/nudges.ts';
import { createInsightsStore, rememberUsualDurations } from '../../shared/insights/day-insights.ts';
import { createHourCountsStore } from '../../shared/insights/hour-counts.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import type { BridgeStore } from '../../shared/store/bridge-store.ts';
import { createProjectNames } from '../../shared/store/project-names.ts';
import type { Table, TableIndexes } from '../../shared/store/table.ts';

/** The index of replays has nothing in it. */
const noFeed: TableIndexes = { query: async () => ({ keys: [], next: undefined }) };

export function portsBesidePolls(table: Table, store: BridgeStore, clock: Clock) {
  const { accountId } = store;
  const days = createInsightsStore(table, accountId);
  return {
    watchedAccountIds: () => [accountId],
    bell: everySecond(clock),
    key: { hasAnother: async () => false, isReadable: () => true },
    status: {
      read: () => readAccountStatus(table, accountId),
      write: (status) => writeAccountStatus(table, status),
      tally: createTally(silentTelemetry).tally,
    },
    insights: createInsights({
      days,
      hours: createHourCountsStore(table, accountId),
      clock,
      writer: 'test',
    }),
    usualDurationOf: rememberUsualDurations(days, clock),
    indexes: noFeed,
    names: createNameKeeper(createProjectNames(table, accountId)),
    usage: createUsageWatch({
      thresholds_percent: [],
      account_limits: {},
      project_limits: {},
      keeps_history: false,
    }),
  } satisfies Partial<AccountDeps>;
}

/** No reader of nudges runs beside the account, so that its loops look every second, as after a ring. */
function everySecond(clock: Clock): NudgeBell {
  return {
    ring() {},
    listen: () => (durationMs, signal) => clock.sleep(Math.min(durationMs, 1_000), signal).catch(() => {}),
  };
}
