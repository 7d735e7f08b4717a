/**
 * Runs the whole poller of production (planner, limiter, HTTP client, engine, protocol, relay) against the virtual
 * upstream, an in-memory table that counts write units, and a bus that notes when each event arrived.
 */

import type { AccountDeps } from '../../functions/poller/account/account-deps.ts';
import { type AccountMemory, emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { createPendingSamples } from '../../functions/poller/account/insights/pending-samples.ts';
import { pollAccount } from '../../functions/poller/account/poll-account.ts';
import {
  accountLimits,
  pollOptionsFor,
  STOP_RESERVE_MS,
} from '../../functions/poller/account/poller-limits.ts';
import { REQUEST_BURST } from '../../functions/poller/account/sending/account-budget.ts';
import { createLease } from '../../functions/poller/account/sending/lease.ts';
import { createTally } from '../../functions/poller/account/status/tally.ts';
import { createPollPlanner, type PollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { pollerSchedule } from '../../shared/config/poller-config.ts';
import { SHARES_PER_MINUTE } from '../../shared/core/rates/account-rate.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import { createInsightsStore } from '../../shared/insights/insights-store.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import { createSecret } from '../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/adapters/bridge-store.ts';
import { readCommandUsage } from '../../shared/store/command-usage.ts';
import { createUpstreamClient } from '../../shared/upstream/http-client.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import { createScheduler, type Process } from '../simulation/scheduler.ts';
import type { Detections } from './detections.ts';
import { createMeteredTable, type TableUnits } from './metered-table.ts';
import { createVirtualUpstream, REQUESTS_PER_MINUTE_MAX } from './virtual-upstream.ts';
import type { Workload } from './world/workload.ts';

const ACCOUNT_ID = 'bench';

/** The deployment invokes the poller once a minute and stops it before the next invocation. */
const INVOKE_EVERY_MS = pollerSchedule.everyMs;
const INVOCATION_MS = pollerSchedule.timeoutMs - STOP_RESERVE_MS;

export interface BridgeScenario {
  readonly requestsPerMinute: number;
  readonly pollIntervalMs: number;
  readonly hasHints: boolean;
  readonly recall: number;
  /** The process is killed once in each such interval and loses its memory. */
  readonly killEveryMs?: number;
  /** Replaces production's planner when it is given. */
  readonly planner?: (() => PollPlanner) | undefined;
  /** Another client uses this share of the upstream's whole limit, without regard for refusals. */
  readonly otherShare?: number;
  readonly faultShare?: number;
  readonly lingerMs?: number;
  /**
   * The measurement starts after this time, in which the account is read for the first time and the planner learns
   * which fields of the list change.
   */
  readonly warmUpMs?: number;
}

/** Holds what was counted during the measurement. */
export interface BridgeOutcome extends Readonly<TableUnits> {
  readonly requestCount: number;
  /** Counts the requests that were answered 429. */
  readonly refusedCount: number;
  readonly refusedByHour: readonly number[];
  /** No project went unread for more seconds than this. */
  readonly stalestS: number;
  readonly otherCount: number;
  readonly otherRefusedCount: number;
  readonly eventCount: number;
  /** Counts the events that arrived a second time with the same id. */
  readonly duplicateCount: number;
  /** All invocations together took this time, in seconds. */
  readonly aliveS: number;
}

export async function runBridge(
  workload: Workload,
  detections: Detections,
  {
    scenario,
    seed,
    onHour,
  }: { scenario: BridgeScenario; seed: number; onHour?: ((hour: number) => void) | undefined },
): Promise<BridgeOutcome> {
  const startMs = workload.startS * 1_000;
  const endMs = workload.endS * 1_000;
  const scheduler = createScheduler(startMs);
  const random = seededRandom(seed + 3_000);
  const { otherShare = 0, faultShare = 0, recall } = scenario;
  const otherRequestsPerMinute = otherShare * REQUESTS_PER_MINUTE_MAX;
  const upstreamOptions = { now: () => scheduler.now(), seed, recall, otherRequestsPerMinute, faultShare };
  const upstream = createVirtualUpstream(workload, upstreamOptions);
  const table = createMeteredTable();
  const bus = recordingBus(detections, () => scheduler.now());
  let owner = startProcess();
  let aliveMs = 0;
  let beforeMeasuring = countsNow();

  for (let atMs = startMs; atMs < endMs; atMs += INVOKE_EVERY_MS) {
    if ((atMs - startMs) % 3_600_000 === 0) onHour?.((atMs - startMs) / 3_600_000);
    if (atMs - startMs === (scenario.warmUpMs ?? 0)) {
      beforeMeasuring = countsNow();
      upstream.age.startOver();
    }
    void invoke(owner);
    const killAtMs = nextKillMs(atMs);
    if (killAtMs !== undefined) {
      await scheduler.runUntil(killAtMs);
      owner.process.isCrashed = true;
      owner = startProcess();
    }
    await scheduler.runUntil(Math.min(endMs, atMs + INVOKE_EVERY_MS));
  }
  const measured = difference(countsNow(), beforeMeasuring);
  const refusedByHour = [...upstream.counts.own.refusedByHour];
  const stalestS = upstream.age.stalestS();
  detections.close();
  // The bridge must lose nothing: it publishes what is still missing when it polls again undisturbed.
  await catchUp();
  return { ...measured, refusedByHour, stalestS };

  function countsNow() {
    const { own, other } = upstream.counts;
    return {
      requestCount: own.sent,
      refusedCount: own.refused,
      otherCount: other.sent,
      otherRefusedCount: other.refused,
      ...table.units,
      eventCount: bus.counts.event,
      duplicateCount: bus.counts.duplicate,
      aliveS: aliveMs / 1_000,
    };
  }

  function startProcess(settings: BridgeScenario = scenario) {
    const process: Process = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
    const deps = dependenciesOf(process, settings);
    return { process, deps, memory: emptyAccountMemory() };
  }

  async function invoke({ process, deps, memory }: ReturnType<typeof startProcess>): Promise<void> {
    const beganMs = scheduler.now();
    await invokeOnce(deps, memory, INVOCATION_MS);
    if (!process.isCrashed) aliveMs += scheduler.now() - beganMs;
  }

  function nextKillMs(atMs: number): number | undefined {
    const { killEveryMs } = scenario;
    if (killEveryMs === undefined || (atMs - startMs) % killEveryMs !== 0 || atMs === startMs)
      return undefined;
    return atMs + random.next() * INVOCATION_MS;
  }

  async function catchUp(): Promise<void> {
    owner.process.isCrashed = true;
    await scheduler.runUntil(endMs + 2 * INVOKE_EVERY_MS);
    // Production's planner does this, because a policy that knows the future would not look again.
    const { deps, memory } = startProcess({ ...scenario, planner: undefined });
    const rounds = Math.ceil((3 * workload.projectCount) / scenario.requestsPerMinute) + 3;
    for (let round = 0; round < rounds; round++) {
      void invokeOnce({ ...deps, limits: { ...deps.limits, lingerMs: undefined } }, memory, INVOCATION_MS);
      await scheduler.runUntil(scheduler.now() + INVOKE_EVERY_MS);
    }
  }

  function dependenciesOf(process: Process, settings: BridgeScenario): AccountDeps {
    const clock = scheduler.clockOf(process);
    const budget = createRequestBudget({
      clock,
      requestsPerMinute: settings.requestsPerMinute,
      burst: REQUEST_BURST,
      startsEmpty: true,
    });
    const { telemetry, tally } = createTally(silentTelemetry);
    const { lingerMs } = settings;
    const store = createBridgeStore(table, ACCOUNT_ID, clock);
    return {
      upstream: createUpstreamClient({
        baseUrl: 'http://upstream.invalid/api/v2',
        apiKey: { current: async () => KEY, refresh: async () => KEY },
        clock,
        random,
        budget,
        fetch: upstream.fetch,
      }),
      store,
      status: {
        read: () => readAccountStatus(table, ACCOUNT_ID),
        write: (status) => writeAccountStatus(table, status),
        tally,
        requestsPerMinute: settings.requestsPerMinute,
      },
      insights: {
        pending: createPendingSamples(clock),
        store: createInsightsStore(table, ACCOUNT_ID),
        writer: 'bench',
      },
      bus: bus.port,
      budget,
      // The scenario sends no commands, but the poller checks for them as in production.
      commands: {
        sentCount: () => readCommandUsage(table, ACCOUNT_ID),
        requestsPerMinute: SHARES_PER_MINUTE.commands,
      },
      planner: plannerOf(settings),
      clock,
      telemetry,
      lease: createLease({
        store,
        clock,
        monotonicMs: () => scheduler.now(),
        newId: () => String(random.next()),
        budget,
      }),
      key: { hasAnother: async () => false },
      options: pollOptionsFor('open', {}),
      limits: {
        ...accountLimits.run,
        requestsPerMinute: settings.requestsPerMinute,
        // Calls take no time here, so two workers do what a dozen do in production.
        pollsAtOnce: 2,
        ...(lingerMs !== undefined && { lingerMs }),
      },
    };
  }
}

type Counts = Omit<BridgeOutcome, 'refusedByHour' | 'stalestS'>;

function difference(after: Counts, before: Counts): Counts {
  const names = Object.keys(after) as (keyof Counts)[];
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as unknown as Counts;
}

const KEY = createSecret('bench-key');

function plannerOf({ planner, pollIntervalMs, requestsPerMinute, hasHints }: BridgeScenario): PollPlanner {
  if (planner !== undefined) return planner();
  return createPollPlanner({
    ...accountLimits.planner,
    requestsPerMinute,
    pollIntervalMsMin: pollIntervalMs,
    listing: {
      intervalMsMax: accountLimits.run.discoveryIntervalMs,
      hintIntervalMsMin: hasHints ? pollIntervalMs / 4 : undefined,
    },
  });
}

async function invokeOnce(deps: AccountDeps, memory: AccountMemory, durationMs: number): Promise<void> {
  const stop = new AbortController();
  void deps.clock.sleep(durationMs).then(() => stop.abort(new Error('deadline')));
  await pollAccount(deps, memory, { signal: stop.signal, leaseMs: durationMs }).catch(() => undefined);
}

/**
 * Lets everything happen that can happen at one virtual instant. This suffices because the code never waits for real
 * time.
 */

function recordingBus(detections: Detections, now: () => number) {
  const counts = { event: 0, duplicate: 0 };
  const ids = new Set<string>();
  const port: EventBus = {
    publish: async (events) =>
      events.map(({ detailType, detail }) => {
        const event = JSON.parse(detail) as { id: string; operation_id: string; status: string };
        counts.event += 1;
        if (ids.has(event.id)) counts.duplicate += 1;
        else if (detailType === 'Operation State Changed')
          detections.note(event.operation_id, event.status, now() / 1_000);
        ids.add(event.id);
        return { kind: 'accepted' };
      }),
  };
  return { counts, port };
}
