/** Counts what the account's status shows. Every figure is passed on to the metrics. */

import type { Tally } from '../../../../shared/core/records/account-status.ts';
import type { Telemetry } from '../../../../shared/runtime/telemetry.ts';

export interface TallyKeeper {
  /** Returns what was counted since the last call. */
  take(): Tally;
  /**
   * Returns the percentage of the requests that the upstream refused for their rate since the last call. It is undefined
   * after fewer than `REQUESTS_FOR_A_SHARE` requests, of which a single one would be a large share.
   */
  takeThrottledPercent(): number | undefined;
}

const REQUESTS_FOR_A_SHARE = 20;

/** At most this many delays of one minute are kept. More of them do not change a percentile. */
export const DELAYS_MAX = 5_000;

export function createTally<T extends Telemetry>(
  telemetry: T,
): { readonly telemetry: T; readonly tally: TallyKeeper } {
  let requestCount = 0;
  let throttledCount = 0;
  let delaysMs: number[] = [];
  let [sharedRequests, sharedThrottled] = [0, 0];
  return {
    telemetry: {
      ...telemetry,
      measure(metric, value, name) {
        if (metric === 'UpstreamRequests')
          [requestCount, sharedRequests] = [requestCount + value, sharedRequests + value];
        if (metric === 'UpstreamThrottled')
          [throttledCount, sharedThrottled] = [throttledCount + value, sharedThrottled + value];
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
      takeThrottledPercent() {
        const [requests, throttled] = [sharedRequests, sharedThrottled];
        [sharedRequests, sharedThrottled] = [0, 0];
        return requests < REQUESTS_FOR_A_SHARE ? undefined : (100 * throttled) / requests;
      },
    },
  };
}
