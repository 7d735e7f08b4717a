/** Measures the load of a lane during an invocation, and reports it at the end. */

import type { FlushableTelemetry } from '../../../shared/runtime/powertools-telemetry.ts';
import type { SocketUse } from '../../../shared/upstream/pooled-http.ts';
import { createBoundReports } from '../account/status/report-bound.ts';
import { adviseLane, type LaneAdvice, type LaneLoad, loadPercentOf } from './lane-load.ts';

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
