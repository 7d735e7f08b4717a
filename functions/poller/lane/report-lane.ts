/**
 * Writes how the lane is doing into its item when that has changed, and recalls after a cold start which accounts it
 * has set aside.
 */

import { MINUTE_MS } from '../../../shared/core/time/durations.ts';
import { isoTimeOf } from '../../../shared/core/time/timestamp.ts';
import { type LaneStatus, SET_ASIDE_NAMED_MAX } from '../../../shared/lanes/lane-status.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import type { LaneMeasurement } from './lane-meter.ts';
import type { SetAsideAccounts } from './run-lane.ts';

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
