/** Counts what the account's status shows. Every figure is passed on to the metrics. */

import type { Tally } from '../../../../shared/core/records/account-status.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';

export interface TallyKeeper {
  /** Returns what was counted since the last call. */
  take(): Tally;
}

/** At most this many delays of one minute are kept. More of them do not change a percentile. */
export const DELAYS_MAX = 5_000;

export function createTally<T extends Telemetry>(
  telemetry: T,
): { readonly telemetry: T; readonly tally: TallyKeeper } {
  let requestCount = 0;
  let throttledCount = 0;
  let delaysMs: number[] = [];
  return {
    telemetry: {
      ...telemetry,
      measure(metric, value, name) {
        if (metric === 'UpstreamRequests') requestCount += value;
        if (metric === 'UpstreamThrottled') throttledCount += value;
        if (metric === 'DetectionDelayMs' && delaysMs.length < DELAYS_MAX) delaysMs.push(value);
        telemetry.measure(metric, value, name);
      },
    },
    tally: {
      take() {
        const taken = { requestCount, throttledCount, delaysMs };
        [requestCount, throttledCount, delaysMs] = [0, 0, []];
        return taken;
      },
    },
  };
}
