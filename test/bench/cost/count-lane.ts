/**
 * Counts, on virtual time, what one lane of the poller calls: the wiring of production, with a virtual upstream for
 * each account, a table that counts request units, and a bus that notes when each event arrived.
 */

import { pollerAccess } from '../../../functions/poller/access.ts';
import { STOP_RESERVE_MS } from '../../../functions/poller/account/wind-up.ts';
import {
  type Account,
  type Adapters,
  createAccount,
  type HandlerPorts,
} from '../../../functions/poller/create-account.ts';
import { type LaneAccount, runLane, type SetAsideAccounts } from '../../../functions/poller/lane/run-lane.ts';
import { createNudgeReader } from '../../../functions/poller/nudges.ts';
import { pollSettingsOf } from '../../../shared/accounts/account.ts';
import { openAccountDirectory } from '../../../shared/accounts/account-directory.ts';
import {
  type PollAccountRequest,
  type PollAccountSettings,
  pollAccountRequest,
  pollerSchedule,
} from '../../../shared/config/poller-config.ts';
import { LIMIT_PER_MINUTE } from '../../../shared/rates/account-rate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { gatherReads } from '../../../shared/store/table-access.ts';
import { sendByFetch } from '../../../shared/upstream/pooled-http.ts';
import { createScheduler } from '../../simulation/scheduler.ts';
import { createDetections, type Detections } from '../bridge/detections.ts';
import { timedBus, timedFetch, timedTable, upstreamDurations } from '../bridge/timed-ports.ts';
import { createVirtualUpstream } from '../bridge/virtual-upstream.ts';
import { createWorkload, type Workload } from '../world/workload.ts';
import { MATCHED } from '../world/world.ts';
import { createCountedTable, type Units } from './counted-table.ts';

interface CountedLane {
  readonly accountCount: number;
  readonly projectCount: number;
  readonly settings: Partial<PollAccountRequest>;
  /** The first reading of all projects is not part of a usual day. */
  readonly warmUpHours: number;
  readonly measuredHours: number;
}

export interface LaneCounts {
  readonly operationCount: number;
  readonly requestCount: number;
  readonly refusedCount: number;
  readonly eventCount: number;
  /** All invocations together ran for this number of seconds. */
  readonly aliveS: number;
  /** Holds the seconds from each transition to its event, in rising order. */
  readonly delaysS: Float64Array;
  readonly units: ReadonlyMap<string, Units>;
}

/** The mean of a day's activity is at this hour (`createWorkload`). */
const MEAN_HOUR = 6;

const INVOCATION_MS = pollerSchedule.timeoutMs - STOP_RESERVE_MS;
const HOUR_MS = 3_600_000;

export async function countLane(lane: CountedLane): Promise<LaneCounts> {
  const { warmUpHours, measuredHours } = lane;
  const hours = warmUpHours + measuredHours;
  const fromHour = MEAN_HOUR - measuredHours / 2 - warmUpHours;
  const worlds = Array.from({ length: lane.accountCount }, (_, index) =>
    worldOf(lane, index, { hours, fromHour }),
  );
  const startMs = (worlds[0]?.workload.startS ?? 0) * 1_000;
  const scheduler = createScheduler(startMs);
  const clock = scheduler.clockOf({ name: 'lane', isCrashed: false, clockSkewMs: 0 });
  const upstreams = worlds.map((world) => upstreamOf(world, () => scheduler.now()));
  const table = createCountedTable();
  const bus = busOf(worlds, () => scheduler.now());
  const http = sendByFetch(routedFetch(worlds, upstreams, clock));
  const ports = { clock, table, http, bus: timedBus(bus.port, clock, MATCHED.delays.busMs) };
  const invoke = laneOf(worlds, ports);
  let aliveMs = 0;
  let before = { units: unitsNow(), counts: countsNow() };
  for (let atMs = startMs; atMs < startMs + hours * HOUR_MS; atMs += pollerSchedule.everyMs) {
    if (atMs === startMs + warmUpHours * HOUR_MS) before = { units: unitsNow(), counts: countsNow() };
    const beganMs = scheduler.now();
    void invoke().then(() => {
      aliveMs += scheduler.now() - beganMs;
    });
    await scheduler.runUntil(atMs + pollerSchedule.everyMs);
  }
  for (const { detections } of worlds) detections.close();
  const after = countsNow();
  return {
    operationCount: worlds.reduce((sum, world) => sum + startedIn(world), 0),
    requestCount: after.sent - before.counts.sent,
    refusedCount: after.refused - before.counts.refused,
    eventCount: after.events - before.counts.events,
    aliveS: (after.aliveMs - before.counts.aliveMs) / 1_000,
    delaysS: Float64Array.from(
      worlds.flatMap(({ detections }) => [...detections.score().delaysS]),
    ).toSorted(),
    units: unitsSince(before.units, unitsNow()),
  };

  function countsNow() {
    const own = upstreams.map(({ counts }) => counts.own);
    return {
      sent: own.reduce((sum, { sent }) => sum + sent, 0),
      refused: own.reduce((sum, { refused }) => sum + refused, 0),
      events: bus.counts.event,
      aliveMs,
    };
  }

  function unitsNow(): ReadonlyMap<string, Units> {
    return new Map([...table.units].map(([subject, units]) => [subject, { ...units }]));
  }
}

interface AccountWorld {
  readonly accountId: string;
  readonly workload: Workload;
  readonly measuredFromS: number;
  readonly detections: Detections;
  readonly settings: PollAccountSettings;
  readonly seed: number;
}

function worldOf(
  { projectCount, settings, warmUpHours }: CountedLane,
  index: number,
  span: { readonly hours: number; readonly fromHour: number },
): AccountWorld {
  const seed = index + 1;
  const accountId = `account-${index}`;
  const workload = createWorkload({ ...MATCHED, commandShare: 0 }, projectCount, seed, span);
  const measuredFromS = workload.startS + warmUpHours * 3_600;
  return {
    accountId,
    seed,
    workload,
    measuredFromS,
    detections: createDetections(workload, measuredFromS),
    settings: pollAccountRequest.parse({
      account_id: accountId,
      upstream_base_url: `https://${accountId}.invalid/api/v2`,
      key_secret_id: 'bench',
      ...settings,
    }),
  };
}

function startedIn({ workload, measuredFromS }: AccountWorld): number {
  const isMeasured = (atS = 0) => atS >= measuredFromS && atS < workload.endS;
  return workload.operations.flat().filter(({ states }) => isMeasured(states[0]?.atS)).length;
}

function upstreamOf({ workload, seed }: AccountWorld, now: () => number) {
  const limits = { requestsPerMinuteMax: LIMIT_PER_MINUTE, otherRequestsPerMinute: 0 };
  // No field of the project list moves with changes, which is the dearer and slower case.
  return createVirtualUpstream(workload, { now, seed, recall: 0, faultShare: 0, ...limits });
}

function routedFetch(
  worlds: readonly AccountWorld[],
  upstreams: readonly ReturnType<typeof upstreamOf>[],
  clock: Clock,
): typeof fetch {
  const byHost = new Map(
    worlds.map(({ settings, seed }, index) => {
      const own = upstreams[index]?.fetch ?? globalThis.fetch;
      const durationMs = upstreamDurations(MATCHED.delays, seededRandom(seed + 4_000));
      return [new URL(settings.upstream_base_url).host, timedFetch(own, clock, durationMs, async () => {})];
    }),
  );
  return async (input, init) => {
    const { host } = new URL(input instanceof Request ? input.url : input);
    const own = byHost.get(host);
    if (own === undefined) throw new Error(`No account of the count has the host ${host}`);
    return own(input, init);
  };
}

function busOf(worlds: readonly AccountWorld[], now: () => number) {
  const detections = new Map(worlds.map((world) => [world.accountId, world.detections]));
  const counts = { event: 0 };
  const port: Adapters['bus'] = {
    publish: async (events) =>
      events.map(({ detailType, detail }) => {
        const event = JSON.parse(detail) as { account_id: string; operation_id: string; status: string };
        counts.event += 1;
        if (detailType === 'Operation State Changed')
          detections.get(event.account_id)?.note(event.operation_id, event.status, now() / 1_000);
        return { kind: 'accepted' };
      }),
  };
  return { counts, port };
}

interface LanePorts extends Pick<Adapters, 'bus' | 'http'> {
  readonly clock: Clock;
  readonly table: ReturnType<typeof createCountedTable>;
}

/** Returns a function that runs one invocation of the lane, in an environment that stays warm. */
function laneOf(
  worlds: readonly AccountWorld[],
  { clock, table, bus, http }: LanePorts,
): () => Promise<void> {
  const random = seededRandom(1);
  const telemetry = { ...silentTelemetry, flush: () => {} };
  const key = createSecret('bench-key');
  const adapters: Adapters = {
    table: gatherReads(timedTable(table.table, clock, MATCHED.delays.tableMs), pollerAccess, clock),
    indexes: table.indexes,
    partitions: table.partitions,
    bus,
    http,
    keyOf: () => ({ current: async () => key, refresh: async () => key }),
    telemetryOf: () => telemetry,
    watchedAccountIds: () => worlds.map(({ accountId }) => accountId),
  };
  const ports: HandlerPorts = {
    clock,
    random,
    newId: () => String(random.next()),
    monotonicMs: () => clock.now(),
  };
  const settings = worlds.map((world) => world.settings);
  const lane = settings.map((own) => laneAccount(own, createAccount(own, adapters, ports)));
  const rules = { upstreamHosts: [], keySecretPrefix: 'bench' };
  const merge = { rules, settingsOf: pollSettingsOf };
  const nudges = createNudgeReader(table.partitions, clock);
  const setAside: SetAsideAccounts = new Map();
  return async () => {
    const stop = new AbortController();
    void clock.sleep(INVOCATION_MS).then(() => stop.abort(new Error('deadline')));
    const directory = openAccountDirectory(settings, merge, { ...adapters, clock, telemetry });
    const accounts = async () => {
      await directory.refresh();
      return lane;
    };
    const endsAtMs = clock.now() + INVOCATION_MS;
    const leaseMs = () => Math.max(0, endsAtMs - clock.now());
    await runLane({ accounts, nudges, clock, telemetry }, setAside, { signal: stop.signal, leaseMs });
  };
}

function laneAccount(settings: PollAccountSettings, { poll, bell }: Account): LaneAccount {
  return {
    accountId: settings.account_id,
    identity: settings.account_id,
    nudge: () => bell.ring(),
    poll,
  };
}

function unitsSince(
  before: ReadonlyMap<string, Units>,
  after: ReadonlyMap<string, Units>,
): ReadonlyMap<string, Units> {
  return new Map(
    [...after].map(([subject, { read, write }]) => {
      const known = before.get(subject) ?? { read: 0, write: 0 };
      return [subject, { read: read - known.read, write: write - known.write }];
    }),
  );
}
