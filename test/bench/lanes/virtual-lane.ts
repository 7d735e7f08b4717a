/**
 * Runs lanes of the production poller on virtual time: many small accounts side by side, each with a service of its own
 * that enforces its limit, and with calls that take time. It says how late transitions are published, whether any is
 * lost, and whether a request was refused.
 */

import { emptyAccountMemory } from '../../../functions/poller/account/account-memory.ts';
import { createLease } from '../../../functions/poller/account/lease.ts';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import { STOP_RESERVE_MS } from '../../../functions/poller/account/wind-up.ts';
import { type LaneAccount, runLane } from '../../../functions/poller/lane/run-lane.ts';
import { createNudgeBell } from '../../../functions/poller/nudges.ts';
import { pollerSchedule } from '../../../shared/config/poller-config.ts';
import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { createScheduler, type Process, type Scheduler } from '../../simulation/scheduler.ts';
import { ACCOUNT_ID, allowedTo, createBridgeProcess } from '../bridge/bridge-process.ts';
import { createDetections } from '../bridge/detections.ts';
import { createMeteredTable } from '../bridge/metered-table.ts';
import { createRecordingBus } from '../bridge/recording-bus.ts';
import { timedBus, timedFetch, timedTable, upstreamDurations } from '../bridge/timed-ports.ts';
import { createVirtualUpstream } from '../bridge/virtual-upstream.ts';
import { createWorkload, type Workload } from '../world/workload.ts';
import { MATCHED } from '../world/world.ts';

export interface LaneScenario {
  readonly accounts: number;
  readonly projects: number;
  /** The measurement lasts this long, after a warm-up in which all projects are read for the first time. */
  readonly minutes: number;
  /** Each account may send this many requests a minute. */
  readonly requestsPerMinute: number;
  readonly pollIntervalMs: number;
  readonly seed: number;
}

export interface LaneFigures {
  readonly accounts: number;
  /** The seconds from a transition to its event, over all transitions of all accounts. */
  readonly mean_s: number;
  readonly p95_s: number;
  readonly transitions: number;
  /** The last state was published for this share of the operations. */
  readonly complete: number;
  /** Counts the requests that were answered 429. */
  readonly refused: number;
  /** One account sends this many requests a minute in the mean. */
  readonly requests_per_minute: number;
}

const WARM_UP_MINUTES = 15;
const POLLED_MS = pollerSchedule.timeoutMs - STOP_RESERVE_MS;
/** After the measurement the lane goes on for this long, and then nothing may be missing. */
const CATCH_UP_MINUTES = 3;

export async function runVirtualLane(scenario: LaneScenario): Promise<LaneFigures> {
  const hours = (WARM_UP_MINUTES + scenario.minutes) / 60;
  const workloads = Array.from({ length: scenario.accounts }, (_, place) =>
    createWorkload(MATCHED, scenario.projects, scenario.seed * 10_000 + place, { hours, fromHour: 6 }),
  );
  const startMs = (workloads[0]?.startS ?? 0) * 1_000;
  const scheduler = createScheduler(startMs);
  const random = seededRandom(scenario.seed);
  const owner: Process = { name: 'lane', isCrashed: false, clockSkewMs: 0 };
  const accounts = workloads.map((workload, place) =>
    virtualAccount(`account-${place}`, workload, scenario, { scheduler, random, owner }),
  );
  const clock = scheduler.clockOf(owner);
  const deps = {
    accounts: async () => accounts.map(({ account }) => account),
    nudges: { read: async () => [] },
    clock,
    telemetry: silentTelemetry,
  };
  let measuredFrom = 0;
  const minutes = WARM_UP_MINUTES + scenario.minutes;
  for (let minute = 0; minute < minutes + CATCH_UP_MINUTES; minute++) {
    if (minute === WARM_UP_MINUTES) measuredFrom = sentBy(accounts);
    if (minute === minutes) for (const { detections } of accounts) detections.close();
    const stop = new AbortController();
    void clock.sleep(POLLED_MS).then(() => stop.abort(ENDED));
    const endsAtMs = clock.now() + POLLED_MS;
    void runLane(deps, new Map(), { signal: stop.signal, leaseMs: () => endsAtMs - clock.now() });
    await scheduler.runUntil(startMs + (minute + 1) * pollerSchedule.everyMs);
  }
  const sent = sentBy(accounts) - measuredFrom;
  const requests = sent / scenario.accounts / (scenario.minutes + CATCH_UP_MINUTES);
  return figuresOf(accounts, requests);
}

type VirtualAccount = ReturnType<typeof virtualAccount>;

interface Shared {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly owner: Process;
}

function virtualAccount(
  accountId: string,
  workload: Workload,
  { requestsPerMinute, pollIntervalMs, seed }: LaneScenario,
  { scheduler, random, owner }: Shared,
) {
  const clock = scheduler.clockOf(owner);
  const { delays } = workload.world;
  const measuredFromS = workload.startS + WARM_UP_MINUTES * 60;
  const detections = createDetections(workload, measuredFromS);
  const bus = createRecordingBus(detections, () => scheduler.now());
  const upstream = createVirtualUpstream(workload, {
    now: () => scheduler.now(),
    seed,
    recall: 0,
    faultShare: 0,
    otherRequestsPerMinute: 0,
    requestsPerMinuteMax: allowedTo(requestsPerMinute),
  });
  const upstreamMs = upstreamDurations(delays, seededRandom(seed));
  const table = timedTable(createMeteredTable().poller, clock, delays.tableMs);
  const base = createBridgeProcess(
    { requestsPerMinute, pollIntervalMs, hasHints: false },
    {
      fetch: timedFetch(upstream.fetch, clock, upstreamMs, async () => {}),
      table,
      bus: timedBus(bus.port, clock, delays.busMs),
      clock,
      random,
    },
  );
  const store = createBridgeStore(table, ACCOUNT_ID, clock);
  const monotonicMs = () => clock.now();
  const newId = () => String(random.next());
  const lease = createLease({ store, clock, monotonicMs, newId, budget: base.budget });
  const bell = createNudgeBell(clock);
  const deps = { ...base, lease, bell };
  const memory = emptyAccountMemory();
  const account: LaneAccount = {
    accountId,
    identity: 'the same settings',
    nudge: () => bell.ring(),
    poll: (invocation) => pollAccount(deps, memory, invocation),
  };
  return { account, detections, upstream };
}

/** A reason of one's own would record its stack each time. */
const ENDED = new Error('The invocation has ended');

function sentBy(accounts: readonly VirtualAccount[]): number {
  return accounts.reduce((sum, { upstream }) => sum + upstream.counts.own.sent, 0);
}

function figuresOf(accounts: readonly VirtualAccount[], requestsPerMinute: number): LaneFigures {
  const scores = accounts.map(({ detections }) => detections.score());
  const delaysS = scores.flatMap((score) => [...score.delaysS]).toSorted((a, b) => a - b);
  const round = (value: number) => Number(value.toFixed(2));
  const measured = scores.filter(({ complete }) => !Number.isNaN(complete));
  return {
    accounts: accounts.length,
    mean_s: round(delaysS.reduce((sum, delayS) => sum + delayS, 0) / delaysS.length),
    p95_s: round(delaysS[Math.floor(0.95 * delaysS.length)] ?? Number.NaN),
    transitions: delaysS.length,
    complete: Math.min(...measured.map(({ complete }) => complete)),
    refused: accounts.reduce((sum, { upstream }) => sum + upstream.counts.own.refused, 0),
    requests_per_minute: round(requestsPerMinute),
  };
}
