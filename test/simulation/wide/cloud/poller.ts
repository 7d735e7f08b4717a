/** Puts the poller's parts together as its handler does, on the virtual cloud. */

import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { AccountDeps } from '../../../../functions/poller/account/account-deps.ts';
import { createCatalogueStore } from '../../../../functions/poller/account/catalogue/catalogue-store.ts';
import { createCatalogueKeeper } from '../../../../functions/poller/account/catalogue/keep-catalogue.ts';
import { createNameKeeper } from '../../../../functions/poller/account/discovery/keep-names.ts';
import { createPendingCounts } from '../../../../functions/poller/account/insights/pending-counts.ts';
import { createPendingSamples } from '../../../../functions/poller/account/insights/pending-samples.ts';
import { accountLimits, pollOptionsFor } from '../../../../functions/poller/account/poller-limits.ts';
import { createAccountBudget } from '../../../../functions/poller/account/sending/account-budget.ts';
import { createLease, type Lease } from '../../../../functions/poller/account/sending/lease.ts';
import { createTally } from '../../../../functions/poller/account/status/tally.ts';
import { createPollPlanner } from '../../../../functions/poller/planner/poll-planner.ts';
import { askForRecorded } from '../../../../functions/poller/project/recorded-operations.ts';
import { type AccountRate, sharedRequestsPerMinute } from '../../../../shared/core/rates/account-rate.ts';
import { createEventBridgeBus } from '../../../../shared/events/event-bus.ts';
import { createHourCountsStore } from '../../../../shared/insights/hour-counts-store.ts';
import { createInsightsStore } from '../../../../shared/insights/insights-store.ts';
import { rememberUsualDurations } from '../../../../shared/insights/usual-durations.ts';
import { createSecretKeySource } from '../../../../shared/runtime/secret-key-source.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../../../shared/store/adapters/bridge-store.ts';
import { readCommandUsage } from '../../../../shared/store/command-usage.ts';
import { createProjectNames } from '../../../../shared/store/project-names.ts';
import { createUnreadableNotes } from '../../../../shared/store/unreadable.ts';
import { createUpstreamClient } from '../../../../shared/upstream/http-client.ts';
import { guardKey } from '../../../../shared/upstream/key-source.ts';
import type { Process } from '../../scheduler.ts';
import type { WidePlan } from '../plan.ts';
import { ACCOUNT_ID, type Stage } from '../stage.ts';
import { UPSTREAM_URL } from '../upstream/virtual-upstream.ts';
import { createBusClient } from './bus.ts';
import { createLateIndexes, createSlowTable } from './table.ts';

export function rateOf(plan: WidePlan): AccountRate {
  return {
    pollerRequestsPerMinute: plan.requestsPerMinute,
    commandRequestsPerMinute: plan.commandRequestsPerMinute,
  };
}

/**
 * At least a quarter of the poll interval lies between two readings of the list, as in production (create-handler).
 * That is this many milliseconds for each second of the interval.
 */
const LIST_INTERVAL_SHARE_MS = 250;

export function pollerDependencies(stage: Stage, owner: Process): AccountDeps {
  const { world, ear } = stage;
  const { plan, scheduler, random } = world;
  const clock = scheduler.clockOf(owner);
  const { telemetry, tally } = createTally(noticesRecall(stage, ear.telemetryOf(owner.name)));
  const rate = rateOf(plan);
  const table = createSlowTable(world, stage.tableSide, { owner, role: 'poller' });
  const budget = createAccountBudget(clock, rate);
  const noteUnreadable = createUnreadableNotes(telemetry);
  const store = createBridgeStore(table, ACCOUNT_ID, clock, noteUnreadable);
  const insights = createInsightsStore(table, ACCOUNT_ID, noteUnreadable);
  const requestsPerMinute = sharedRequestsPerMinute(rate);
  const newId = () => `${owner.name}-${random.next()}`;
  const owned = createLease({ store, clock, monotonicMs: () => scheduler.now(), newId, budget });
  const lease = plan.isLeased ? owned : NO_LEASE;
  const key = guardKey(createSecretKeySource(secretsClient(stage, owner), 'upstream-key', clock));
  return {
    upstream: createUpstreamClient({
      baseUrl: UPSTREAM_URL,
      apiKey: key,
      maySend: () => lease.holds(),
      clock,
      random,
      budget,
      send: stage.upstream.sendOf(owner, false),
      onAttempt: noteAttempt(telemetry),
    }),
    store,
    askForRecorded: askForRecorded(createLateIndexes(world, stage.tableSide, owner), ACCOUNT_ID),
    lease,
    key,
    insights: { pending: createPendingSamples(clock), store: insights, writer: newId() },
    usualDurationOf: rememberUsualDurations(insights, clock),
    hourCounts: {
      pending: createPendingCounts(clock),
      store: createHourCountsStore(table, ACCOUNT_ID, noteUnreadable),
    },
    ...(plan.cataloguedFrom !== undefined && {
      catalogue: createCatalogueKeeper(createCatalogueStore(table, ACCOUNT_ID, noteUnreadable)),
    }),
    names: createNameKeeper(createProjectNames(table, ACCOUNT_ID, noteUnreadable)),
    status: {
      read: () => readAccountStatus(table, ACCOUNT_ID, noteUnreadable),
      write: (status) => writeAccountStatus(table, status),
      tally,
      requestsPerMinute,
    },
    bus: createEventBridgeBus(createBusClient(world, stage.bus, owner), 'bus'),
    budget,
    ...(plan.commandRequestsPerMinute > 0 && {
      commands: {
        sentCount: () => readCommandUsage(table, ACCOUNT_ID, noteUnreadable),
        requestsPerMinute: plan.commandRequestsPerMinute,
      },
    }),
    planner: createPollPlanner({
      ...accountLimits.planner,
      requestsPerMinute,
      readsComputes: plan.readsComputes,
      pollIntervalMsMin: plan.pollIntervalSeconds * 1_000,
      listing: {
        intervalMsMax: accountLimits.run.discoveryIntervalMs,
        hintIntervalMsMin: plan.pollIntervalSeconds * LIST_INTERVAL_SHARE_MS,
      },
    }),
    clock,
    telemetry,
    options: {
      ...pollOptionsFor(plan.backfill, plan.stallThresholdsMs),
      walkLimits: plan.walkLimits,
      watermarkStepRows: plan.watermarkStepRows,
      sweepIntervalMs: plan.sweepIntervalMs,
    },
    limits: {
      ...accountLimits.run,
      requestsPerMinute,
      pollsAtOnce: plan.pollsAtOnce,
      workIntervalMs: plan.workIntervalMs,
      projectsMax: plan.projectsMax,
      cataloguedFrom: plan.cataloguedFrom,
      ...(plan.lingerMs !== undefined && { lingerMs: plan.lingerMs }),
    },
  };
}

/** Counts the cold starts in which the catalogue has named projects. */
function noticesRecall({ world }: Stage, telemetry: Telemetry): Telemetry {
  return {
    ...telemetry,
    log(level, event, fields) {
      if (event === 'projects.recalled' && fields?.['project_count'] !== 0) world.fire('projects_recalled');
      telemetry.log(level, event, fields);
    },
  };
}

/** Safety of the records never rests on the lease, so some runs do without it. */
const NO_LEASE: Lease = { acquire: async () => true, holds: () => true, release: async () => {} };

function noteAttempt(telemetry: Telemetry) {
  return ({ status }: { readonly status: number | undefined }) => {
    telemetry.measure('UpstreamRequests', 1);
    if (status === 429) telemetry.measure('UpstreamThrottled', 1);
    else if (status === undefined || status >= 400) telemetry.measure('UpstreamFailed', 1);
  };
}

export function secretsClient({ world, secret }: Stage, owner: Process): SecretsManagerClient {
  const send = () => world.call(owner, [10, 60], () => ({ SecretString: secret.key }));
  return { send } as unknown as SecretsManagerClient;
}
