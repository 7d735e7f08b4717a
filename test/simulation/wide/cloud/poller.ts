/** Builds the poller of one process as its handler does, on the virtual cloud, with the bounds of the run. */

import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { AccountBounds } from '../../../../functions/poller/create-account.ts';
import { createPollerHandler } from '../../../../functions/poller/create-handler.ts';
import { type PollAccountRequest, pollerEnvironment } from '../../../../shared/config/poller-config.ts';
import { createEventBridgeBus } from '../../../../shared/events/event-bus.ts';
import type { AccountRate } from '../../../../shared/rates/account-rate.ts';
import { readConfig } from '../../../../shared/runtime/read-config.ts';
import { accountKeys, createSecretKeySource } from '../../../../shared/runtime/secret-key-source.ts';
import { silentTelemetry } from '../../../../shared/runtime/telemetry.ts';
import type { Table } from '../../../../shared/store/table.ts';
import type { Process } from '../../scheduler.ts';
import type { WidePlan } from '../plan.ts';
import { ACCOUNT_ID, type Stage } from '../stage.ts';
import { isWithin } from '../upstream/truth.ts';
import { UPSTREAM_URL } from '../upstream/virtual-upstream.ts';
import { BROKEN_ID, BROKEN_URL, withBrokenAccount } from './broken-account.ts';
import { createBusClient } from './bus.ts';
import { MOVING_ACCOUNTS, movingUrlOf, withMovingProject } from './moving-project.ts';
import { createLateIndexes, createSlowPartitions, createSlowTable } from './table.ts';

export function rateOf(plan: WidePlan): AccountRate {
  return {
    pollerRequestsPerMinute: plan.requestsPerMinute,
    commandRequestsPerMinute: plan.commandRequestsPerMinute,
    limitRequestsPerMinute: LIMIT_PER_MINUTE,
  };
}

/** Handles one invocation, which is killed at that time. */
export interface Poller {
  handle(endsAtMs: number): Promise<unknown>;
}

export function createPoller(stage: Stage, owner: Process): Poller {
  const { world, ear } = stage;
  const { plan, scheduler, random } = world;
  const clock = scheduler.clockOf(owner);
  const { table, http } = withBrokenAccount(world, owner, {
    table: createSlowTable(world, stage.tableSide, { owner, role: 'poller' }),
    http: withMovingProject(world, stage.moving, owner, stage.upstream.sendOf(owner, false)),
  });
  const telemetry = { ...ear.telemetryOf(owner.name), flush() {} };
  const handler = createPollerHandler(
    readConfig(pollerEnvironment, ENVIRONMENT, 'The environment of the run'),
    {
      clock,
      random,
      newId: () => `${owner.name}-${random.next()}`,
      monotonicMs: () => scheduler.now() - (owner.stoodStillMs ?? 0),
      http,
      bounds: boundsOf(plan),
    },
    () => ({
      table: plan.isLeased ? table : withoutLease(table),
      indexes: createLateIndexes(world, stage.tableSide, owner),
      partitions: createSlowPartitions(world, stage.tableSide, owner),
      bus: createEventBridgeBus(createBusClient(world, stage.bus, owner), 'bus', clock),
      keyOf: accountKeys((id) => createSecretKeySource(secretsClient(stage, owner), id, clock), clock),
      // What is said of the other accounts is not judged.
      telemetryOf: (id = ACCOUNT_ID) => (id === ACCOUNT_ID ? telemetry : { ...silentTelemetry, flush() {} }),
    }),
  );
  const payload = { lane: 0, lanes: 1, shared_lanes: 1, accounts: accountsOf(plan) };
  return {
    handle: (endsAtMs) => handler(payload, { getRemainingTimeInMillis: () => endsAtMs - scheduler.now() }),
  };
}

const ENVIRONMENT = { TABLE_NAME: 'bridge', EVENT_BUS_NAME: 'bus' };

function accountsOf(plan: WidePlan): readonly PollAccountRequest[] {
  const own = settingsOf(plan);
  const broken = {
    ...own,
    account_id: BROKEN_ID,
    upstream_base_url: BROKEN_URL,
    key_secret_id: 'broken-key',
  };
  const moving = MOVING_ACCOUNTS.map((id) => ({
    ...own,
    account_id: id,
    upstream_base_url: movingUrlOf(id),
    key_secret_id: `${id}-key`,
  }));
  return [
    ...(plan.faults.account_broken > 0 ? [broken] : []),
    own,
    ...(plan.faults.project_moved > 0 ? moving : []),
  ];
}

function settingsOf(plan: WidePlan): PollAccountRequest {
  const thresholds = Object.entries(plan.stallThresholdsMs);
  return {
    account_id: ACCOUNT_ID,
    upstream_base_url: UPSTREAM_URL,
    key_secret_id: 'upstream-key',
    requests_per_minute: plan.requestsPerMinute,
    command_requests_per_minute: plan.commandRequestsPerMinute,
    limit_requests_per_minute: LIMIT_PER_MINUTE,
    poll_interval_seconds: plan.pollIntervalSeconds,
    linger_seconds: plan.lingerMs === undefined ? A_WHOLE_MINUTE_S : plan.lingerMs / 1_000,
    stalled_after_seconds: Object.fromEntries(
      thresholds.map(([action, eachMs]) => [action, eachMs.map((ms) => ms / 1_000)]),
    ),
    backfill: plan.backfill,
  };
}

/** The service allows an account this many requests a minute (specification, "Limits"). */
const LIMIT_PER_MINUTE = 700;

/** With this setting an invocation goes on to its end. */
const A_WHOLE_MINUTE_S = 60;

function boundsOf(plan: WidePlan): AccountBounds {
  const { walkLimits, boundStepRows, sweepIntervalMs } = plan;
  const { pollsAtOnce, workIntervalMs, projectsMax } = plan;
  return {
    options: { walkLimits, boundStepRows, sweepIntervalMs },
    limits: { pollsAtOnce, workIntervalMs, projectsMax },
    planner: {},
  };
}

/** Safety of the records never rests on the lease, so in some runs every process gets it. */
function withoutLease(table: Table): Table {
  const isLease = ({ sk }: { readonly sk: string }) => sk === 'LEASE';
  return {
    ...table,
    async update(update) {
      if (!isLease(update.key)) return table.update(update);
      const { condition: _ignored, ...unconditional } = update;
      return table.update(unconditional);
    },
  };
}

export function secretsClient(stage: Stage, owner: Process): SecretsManagerClient {
  const { world, secret, secretsOutages } = stage;
  const read = () => {
    if (!isWithin(secretsOutages, world.scheduler.now())) return { SecretString: secret.key };
    world.fire('secrets_outage');
    throw Object.assign(new Error('The service is away'), { name: 'InternalServiceError' });
  };
  const send = () => world.call(owner, [10, 60], read);
  return { send } as unknown as SecretsManagerClient;
}
