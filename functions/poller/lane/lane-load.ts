/**
 * Measures how near a lane is to what one process can do, and writes it into the item of the lane when that has
 * changed, with what people should do about it. A lane that has too much to do polls later, and nothing is lost.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type LaneStatus, SET_ASIDE_NAMED_MAX } from '../../../shared/accounts/lanes.ts';
import { isoTimeOf, MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { FlushableTelemetry } from '../../../shared/runtime/powertools-telemetry.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { SocketUse } from '../../../shared/upstream/pooled-http.ts';
import { createBoundReports } from '../account/status/report-bound.ts';
import type { SetAsideAccounts } from './run-lane.ts';

/** One invocation of a lane was measured. */
export interface LaneLoad {
  /** The event loop was late by at most this in 99 of 100 cases, in milliseconds. */
  readonly eventLoopDelayMs: number;
  /** The poller of an account woke up at most this late to decide what to poll, in 99 of 100 cases, in milliseconds. */
  readonly lateDecisionMs: number;
  /** The process had this much memory at the end, in megabytes. */
  readonly memoryMb: number;
}

/** A call of the upstream takes about this long, so a delay of this length is as bad as a second call for each poll. */
export const EVENT_LOOP_DELAY_MS_MAX = 200;

/** A transition is found this much later than planned. People notice a second. */
export const LATE_DECISION_MS_MAX = 1_000;

/** Lambda ends a process that needs more than all of its memory, and the last tenth fills up within minutes. */
const MEMORY_SHARE_MAX = 0.9;

/** Returns the load as a percentage of the bound that is nearest. More than 100 is too much. */
export function loadPercentOf(load: LaneLoad, memoryLimitMb: number | undefined): number {
  const shares = [
    load.eventLoopDelayMs / EVENT_LOOP_DELAY_MS_MAX,
    load.lateDecisionMs / LATE_DECISION_MS_MAX,
    memoryLimitMb === undefined ? 0 : load.memoryMb / (MEMORY_SHARE_MAX * memoryLimitMb),
  ];
  return Math.round(100 * Math.max(...shares));
}

type LaneAdvice =
  | { readonly kind: 'none' }
  /** This account alone does much of the work of the lane. */
  | { readonly kind: 'pin_account'; readonly accountId: string }
  | { readonly kind: 'add_lane' }
  /** The lane has one account already, so only a larger function helps. */
  | { readonly kind: 'add_memory' };

/** An account that does more of the lane's polls than this leaves too little to move away with the others. */
const LARGE_SHARE = 0.5;

/** `pollCounts` has the polls of each account in the invocation. */
export function adviseLane(loadPercent: number, pollCounts: ReadonlyMap<string, number>): LaneAdvice {
  if (loadPercent <= 100) return { kind: 'none' };
  if (pollCounts.size <= 1) return { kind: 'add_memory' };
  const total = [...pollCounts.values()].reduce((sum, count) => sum + count, 0);
  const [largest] = [...pollCounts].toSorted(([, a], [, b]) => b - a);
  if (largest !== undefined && largest[1] > LARGE_SHARE * total)
    return { kind: 'pin_account', accountId: largest[0] };
  return { kind: 'add_lane' };
}

/** The process reports these about itself. */
export interface ProcessGauges {
  /** Returns the 99th percentile of the delays of the event loop since the previous call, in milliseconds. */
  takeEventLoopDelayMs(): number;
  memoryMb(): number;
  /** The function has this memory. It is undefined outside of Lambda. */
  readonly memoryLimitMb: number | undefined;
}

/** The lane's sockets to upstreams were used like this since the previous call. */
interface SocketGauge {
  takeSocketUse(): SocketUse;
}

/** Takes how late the decisions of pollers were. */
interface Lateness {
  note(lateMs: number): void;
}

/** One invocation of a lane was measured, and judged. */
export interface LaneMeasurement {
  readonly lane: number;
  readonly accountCount: number;
  readonly load: LaneLoad;
  readonly loadPercent: number;
  readonly sockets: SocketUse;
  readonly advice: LaneAdvice;
}

export interface LaneMeter {
  readonly lateness: Lateness;
  /** Begins the measurement of an invocation. */
  begin(): void;
  /** Writes the load into the log, and as a metric while it is high. `pollCounts` has the polls of each account. */
  report(lane: number, pollCounts: ReadonlyMap<string, number>): LaneMeasurement;
}

/** Durations are counted in steps of this many milliseconds, and all that are longer than the last step together. */
const STEP_MS = 20;
const STEPS = 500;

/** CloudWatch bills a metric by the hours in which it has values, so a lane with little to do writes none. */
const REPORTED_PERCENT_MIN = 50;

export function createLaneMeter(
  gauges: ProcessGauges & SocketGauge,
  telemetry: Pick<FlushableTelemetry, 'log' | 'measure'>,
): LaneMeter {
  const counts = new Uint32Array(STEPS);
  let wasOverloaded = false;
  return {
    lateness: {
      note(lateMs) {
        const step = Math.min(STEPS - 1, Math.max(0, Math.floor(lateMs / STEP_MS)));
        counts[step] = (counts[step] ?? 0) + 1;
      },
    },
    begin() {
      counts.fill(0);
      gauges.takeEventLoopDelayMs();
      gauges.takeSocketUse();
    },
    report(lane, pollCounts) {
      const load = {
        eventLoopDelayMs: gauges.takeEventLoopDelayMs(),
        lateDecisionMs: percentileMs(counts, 0.99),
        memoryMb: gauges.memoryMb(),
      };
      const sockets = gauges.takeSocketUse();
      const loadPercent = loadPercentOf(load, gauges.memoryLimitMb);
      const isOverloaded = loadPercent > 100;
      // A process that has just started has everything to do at once, and one busy minute is no reason to deploy another lane.
      const advice: LaneAdvice =
        isOverloaded && wasOverloaded ? adviseLane(loadPercent, pollCounts) : { kind: 'none' };
      wasOverloaded = isOverloaded;
      telemetry.log(advice.kind === 'none' ? 'info' : 'warn', 'lane.load', {
        lane,
        account_count: pollCounts.size,
        event_loop_delay_ms: Math.round(load.eventLoopDelayMs),
        late_decision_ms: load.lateDecisionMs,
        memory_mb: Math.round(load.memoryMb),
        sockets_max: sockets.inUseMax,
        socket_wait_count: sockets.waitedCount,
        load_percent: loadPercent,
        advice: advice.kind,
        ...(advice.kind === 'pin_account' && { account_id: advice.accountId }),
      });
      if (sockets.waitedCount > 0) createBoundReports(telemetry).report('upstream_sockets', sockets.inUseMax);
      if (loadPercent >= REPORTED_PERCENT_MIN) telemetry.measure('LaneLoadPercent', loadPercent);
      return { lane, accountCount: pollCounts.size, load, loadPercent, sockets, advice };
    },
  };
}

/** Returns the end of the step within which this share of the durations lies, and 0 when there are none. */
function percentileMs(counts: Uint32Array, share: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return 0;
  let seen = 0;
  const step = counts.findIndex((count) => {
    seen += count;
    return seen >= share * total;
  });
  return (step + 1) * STEP_MS;
}

/** The monitor looks this often, which costs next to nothing. */
const RESOLUTION_MS = 20;
const NS_PER_MS = 1e6;
const BYTES_PER_MB = 2 ** 20;

export function createProcessGauges(memoryLimitMb: number | undefined): ProcessGauges {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  histogram.enable();
  return {
    takeEventLoopDelayMs() {
      // The monitor counts the time between its own looks, too.
      const delayMs = histogram.percentile(99) / NS_PER_MS - RESOLUTION_MS;
      histogram.reset();
      return Number.isFinite(delayMs) ? Math.max(0, delayMs) : 0;
    },
    memoryMb: () => process.memoryUsage.rss() / BYTES_PER_MB,
    memoryLimitMb,
  };
}

export interface LaneReportDeps {
  readonly read: () => Promise<readonly LaneStatus[]>;
  readonly write: (status: LaneStatus) => Promise<void>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export interface LaneReports {
  /** Adds what the items of all lanes say of accounts that are set aside. Only the first call reads the table. */
  recall(setAside: SetAsideAccounts): Promise<void>;
  /** Writes the item if it says something new. It takes a quarter of a second at the most, and never rejects. */
  write(measured: LaneMeasurement, setAside: SetAsideAccounts): Promise<void>;
}

/** An invocation has half a second left when everything else is done (`STOP_RESERVE_MS`). The other half is for its log lines. */
const WRITE_MS_MAX = 250;

/** A status that says nothing new is written this often, so that readers see that the lane is alive. */
const UNCHANGED_MS = 5 * MINUTE_MS;

/** A smaller change of the load is no news. */
const LOAD_STEP_PERCENT = 10;

export function createLaneReports({ read, write, clock, telemetry }: LaneReportDeps): LaneReports {
  let isRecalled = false;
  let written: LaneStatus | undefined;
  const logFailure = (event: string) => (error: unknown) =>
    telemetry.log('warn', event, { reason: toError(error).name });
  return {
    async recall(setAside) {
      if (isRecalled) return;
      isRecalled = true;
      const statuses = await read().catch(logFailure('lane.status_not_read'));
      // An account may have come from another lane, so the items of all lanes count.
      for (const { set_aside } of statuses ?? [])
        for (const { account_id, failure_count, until } of set_aside)
          if (!setAside.has(account_id))
            setAside.set(account_id, { failureCount: failure_count, untilMs: Date.parse(until) });
    },
    async write(measured, setAside) {
      const next = laneStatusOf(measured, setAside, clock.now());
      if (written !== undefined && !isNews(written, next)) return;
      const done = new AbortController();
      const writing = write(next).then(() => {
        written = next;
      }, logFailure('lane.status_not_written'));
      await Promise.race([writing, clock.sleep(WRITE_MS_MAX, done.signal).catch(() => {})]);
      done.abort();
    },
  };
}

function laneStatusOf(
  { lane, accountCount, load, loadPercent, sockets, advice }: LaneMeasurement,
  setAside: SetAsideAccounts,
  nowMs: number,
): LaneStatus {
  const named = [...setAside]
    .filter(([, { untilMs }]) => untilMs > nowMs)
    .toSorted(([, a], [, b]) => b.failureCount - a.failureCount)
    .slice(0, SET_ASIDE_NAMED_MAX);
  return {
    lane,
    written_at: isoTimeOf(nowMs),
    account_count: accountCount,
    load_percent: loadPercent,
    event_loop_delay_ms: Math.round(load.eventLoopDelayMs),
    late_decision_ms: load.lateDecisionMs,
    memory_mb: Math.round(load.memoryMb),
    sockets_max: sockets.inUseMax,
    advice: advice.kind,
    ...(advice.kind === 'pin_account' && { advice_account_id: advice.accountId }),
    set_aside: named.map(([account_id, { failureCount, untilMs }]) => ({
      account_id,
      failure_count: failureCount,
      until: isoTimeOf(untilMs),
    })),
  };
}

/** Says whether people or the next process would learn something from `next` that `before` does not say. */
export function isNews(before: LaneStatus, next: LaneStatus): boolean {
  const isOld = Date.parse(next.written_at) - Date.parse(before.written_at) >= UNCHANGED_MS;
  const isOtherLoad = Math.abs(next.load_percent - before.load_percent) >= LOAD_STEP_PERCENT;
  const said = ({ account_count, advice, advice_account_id, set_aside }: LaneStatus) =>
    JSON.stringify([account_count, advice, advice_account_id, set_aside]);
  return isOld || isOtherLoad || before.lane !== next.lane || said(before) !== said(next);
}
