/** Reads the gauges of this process: the delay of its event loop, and its memory. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ProcessGauges } from './lane-meter.ts';

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
