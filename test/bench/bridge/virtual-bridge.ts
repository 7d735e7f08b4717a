/**
 * Runs the whole poller of production against the virtual upstream, an in-memory table that counts write units, and a
 * bus that notes when each event arrived. Beside it, commands go through the bridge.
 */

import { emptyAccountMemory } from '../../../functions/poller/account/account-memory.ts';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import { STOP_RESERVE_MS } from '../../../functions/poller/account/wind-up.ts';
import { createFairShare } from '../../../shared/commands/fair-share.ts';
import { pollerSchedule } from '../../../shared/config/poller-config.ts';
import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { createLedgerStore } from '../../../shared/store/ledger-store.ts';
import { createScheduler, type Process, type Scheduler } from '../../simulation/scheduler.ts';
import type { Workload } from '../world/workload.ts';
import {
  ACCOUNT_ID,
  allowedTo,
  benchRate,
  createBenchClient,
  createBridgeProcess,
  type PollerSettings,
} from './bridge-process.ts';
import { sendCommands } from './command-sender.ts';
import type { Detections } from './detections.ts';
import { createMeteredTable, type TableUnits } from './metered-table.ts';
import { createRecordingBus } from './recording-bus.ts';
import { createProcessor, timedBus, timedFetch, timedTable, upstreamDurations } from './timed-ports.ts';
import { createVirtualUpstream } from './virtual-upstream.ts';

/** The deployment invokes the poller once a minute and stops it before the next invocation. */
const INVOKE_EVERY_MS = pollerSchedule.everyMs;
const INVOCATION_MS = pollerSchedule.timeoutMs - STOP_RESERVE_MS;

export interface BridgeScenario extends PollerSettings {
  /** This share of the transitions changes a field of the project list. */
  readonly recall: number;
  /** The process is killed once in each such interval and loses its memory. */
  readonly killEveryMs?: number;
  /** Another client uses this share of the upstream's whole limit, without regard for refusals. */
  readonly otherShare?: number;
  readonly faultShare?: number;
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

export interface BridgeRun {
  readonly scenario: BridgeScenario;
  readonly seed: number;
  readonly onHour?: ((hour: number) => void) | undefined;
}

export async function runBridge(
  workload: Workload,
  detections: Detections,
  { scenario, seed, onHour }: BridgeRun,
): Promise<BridgeOutcome> {
  const startMs = workload.startS * 1_000;
  const endMs = workload.endS * 1_000;
  const stage = createStage(workload, detections, scenario, seed);
  const { scheduler, upstream } = stage;
  let owner = startProcess(stage, scenario);
  let aliveMs = 0;
  let beforeMeasuring = countsNow();
  void sendCommands(commandsOf(stage), workload);

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
      owner = startProcess(stage, scenario);
    }
    await scheduler.runUntil(Math.min(endMs, atMs + INVOKE_EVERY_MS));
  }
  const measured = difference(countsNow(), beforeMeasuring);
  const refusedByHour = [...upstream.counts.own.refusedByHour];
  const stalestS = upstream.age.stalestS();
  detections.close();
  // The bridge must lose nothing: it publishes what is still missing when it polls again undisturbed.
  owner.process.isCrashed = true;
  await catchUp(stage, scenario, workload);
  return { ...measured, refusedByHour, stalestS };

  function countsNow() {
    const { own, other } = upstream.counts;
    return {
      requestCount: own.sent,
      refusedCount: own.refused,
      otherCount: other.sent,
      otherRefusedCount: other.refused,
      ...stage.table.units,
      eventCount: stage.bus.counts.event,
      duplicateCount: stage.bus.counts.duplicate,
      aliveS: aliveMs / 1_000,
    };
  }

  async function invoke(invoked: PollerProcess): Promise<void> {
    const beganMs = scheduler.now();
    await invokeOnce(invoked);
    if (!invoked.process.isCrashed) aliveMs += scheduler.now() - beganMs;
  }

  function nextKillMs(atMs: number): number | undefined {
    const { killEveryMs } = scenario;
    if (killEveryMs === undefined || (atMs - startMs) % killEveryMs !== 0 || atMs === startMs)
      return undefined;
    return atMs + stage.random.next() * INVOCATION_MS;
  }
}

/** Everything that outlives a process of the poller. */
interface Stage {
  readonly requestsPerMinute: number;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly upstream: ReturnType<typeof createVirtualUpstream>;
  readonly table: ReturnType<typeof createMeteredTable>;
  readonly bus: ReturnType<typeof createRecordingBus>;
  readonly delays: Workload['world']['delays'];
  /** Draws how long a call of the upstream takes, in milliseconds. */
  readonly upstreamMs: () => number;
}

function createStage(
  workload: Workload,
  detections: Detections,
  scenario: BridgeScenario,
  seed: number,
): Stage {
  const { otherShare = 0, faultShare = 0, recall, requestsPerMinute } = scenario;
  const scheduler = createScheduler(workload.startS * 1_000);
  const now = () => scheduler.now();
  const { delays } = workload.world;
  const requestsPerMinuteMax = allowedTo(requestsPerMinute);
  const otherRequestsPerMinute = otherShare * requestsPerMinuteMax;
  return {
    requestsPerMinute,
    scheduler,
    random: seededRandom(seed + 3_000),
    upstream: createVirtualUpstream(workload, {
      now,
      seed,
      recall,
      faultShare,
      requestsPerMinuteMax,
      otherRequestsPerMinute,
    }),
    table: createMeteredTable(),
    bus: createRecordingBus(detections, now),
    delays,
    upstreamMs: upstreamDurations(delays, seededRandom(seed + 4_000)),
  };
}

type PollerProcess = ReturnType<typeof startProcess>;

function startProcess(stage: Stage, settings: PollerSettings) {
  const { scheduler, upstream, table, bus, delays, upstreamMs, random } = stage;
  const process: Process = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
  const clock = scheduler.clockOf(process);
  const processor = createProcessor(clock);
  const deps = createBridgeProcess(settings, {
    fetch: timedFetch(upstream.fetch, clock, upstreamMs, () => processor.work(delays.processorMs)),
    table: timedTable(table.poller, clock, delays.tableMs),
    bus: timedBus(bus.port, clock, delays.busMs),
    clock,
    random,
  });
  return { process, deps, memory: emptyAccountMemory() };
}

function commandsOf({
  scheduler,
  requestsPerMinute,
  upstream,
  table,
  bus,
  delays,
  upstreamMs,
  random,
}: Stage) {
  const clock = scheduler.clockOf({ name: 'api', isCrashed: false, clockSkewMs: 0 });
  const slowTable = timedTable(table.api, clock, delays.tableMs);
  const recording = {
    accountId: ACCOUNT_ID,
    store: createBridgeStore(slowTable, ACCOUNT_ID, clock),
    upstream: createBenchClient(
      timedFetch(upstream.fetch, clock, upstreamMs, async () => {}),
      clock,
      random,
    ),
    bus: timedBus(bus.port, clock, delays.busMs),
    telemetry: silentTelemetry,
    clock,
    settleWithinMs: 900_000,
  };
  const { budget } = createFairShare({
    clock,
    random,
    rate: benchRate(requestsPerMinute),
    store: createLedgerStore(slowTable, ACCOUNT_ID),
    telemetry: silentTelemetry,
    instancesMax: 1,
  });
  return { recording, budget, upstream, callMs: upstreamMs };
}

async function catchUp(
  stage: Stage,
  scenario: BridgeScenario,
  { endS, projectCount }: Workload,
): Promise<void> {
  const { scheduler } = stage;
  await scheduler.runUntil(endS * 1_000 + 2 * INVOKE_EVERY_MS);
  // Production's planner does this, because a policy that knows the future would not look again.
  const { lingerMs: _lingerMs, ...settings } = scenario;
  const process = startProcess(stage, { ...settings, planner: undefined });
  const rounds = Math.ceil((3 * projectCount) / scenario.requestsPerMinute) + 3;
  for (let round = 0; round < rounds; round++) {
    void invokeOnce(process);
    await scheduler.runUntil(scheduler.now() + INVOKE_EVERY_MS);
  }
}

type Counts = Omit<BridgeOutcome, 'refusedByHour' | 'stalestS'>;

function difference(after: Counts, before: Counts): Counts {
  const names = Object.keys(after) as (keyof Counts)[];
  return Object.fromEntries(names.map((name) => [name, after[name] - before[name]])) as unknown as Counts;
}

async function invokeOnce({ deps, memory }: PollerProcess): Promise<void> {
  const stop = new AbortController();
  void deps.clock.sleep(INVOCATION_MS).then(() => stop.abort(new Error('deadline')));
  await pollAccount(deps, memory, { signal: stop.signal, leaseMs: INVOCATION_MS }).catch(() => undefined);
}
