/**
 * `npm run cost:count` counts, on virtual time, what one account's poller calls in a day at its default settings. It
 * writes the counts to infra/cli/cost/counted.json, from which the page of costs is made.
 */

import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CountedDay } from '../../infra/cli/cost/cost.ts';
import { pollAccountRequest } from '../../shared/config/poller-config.ts';
import { sharedRequestsPerMinute } from '../../shared/core/rates/account-rate.ts';
import { createDetections } from './bridge/detections.ts';
import { runBridge } from './bridge/virtual-bridge.ts';
import { createWorkload } from './world/workload.ts';
import { MATCHED } from './world/world.ts';

const SIZES = [10, 100, 1_000];
const HOURS = 24;

/** The first reading of all projects is not part of a usual day. */
const WARM_UP_HOURS = 1;

export async function countDay(
  projectCount: number,
  { hours = HOURS, onHour }: { readonly hours?: number; readonly onHour?: (hour: number) => void } = {},
): Promise<CountedDay> {
  const { shape } = pollAccountRequest;
  const workload = createWorkload({ ...MATCHED, commandShare: 0 }, projectCount, 1, {
    hours: hours + WARM_UP_HOURS,
  });
  const outcome = await runBridge(workload, createDetections(workload), {
    scenario: {
      requestsPerMinute: sharedRequestsPerMinute({
        pollerRequestsPerMinute: shape.requests_per_minute.parse(undefined),
        commandRequestsPerMinute: shape.command_requests_per_minute.parse(undefined),
      }),
      pollIntervalMs: 'by_size',
      hasHints: true,
      recall: 0,
      warmUpMs: WARM_UP_HOURS * 3_600_000,
    },
    seed: 1,
    onHour,
  });
  const measuredFromS = workload.startS + WARM_UP_HOURS * 3_600;
  const operations = workload.operations
    .flat()
    .filter(({ states }) => (states[0]?.atS ?? 0) >= measuredFromS && (states[0]?.atS ?? 0) < workload.endS);
  const perDay = (count: number) => Math.round((count * 24) / hours);
  return {
    projects: projectCount,
    operations: perDay(operations.length),
    requests: perDay(outcome.requestCount),
    events: perDay(outcome.eventCount),
    write_units: perDay(outcome.writes + outcome.indexWrites + outcome.upkeepWrites),
    read_units: perDay(outcome.reads),
    alive_seconds: perDay(outcome.aliveS),
    invocations: 24 * 60,
  };
}

if (import.meta.main) {
  const days = [];
  for (const size of SIZES) {
    const onHour = (hour: number) => process.stderr.write(`${size} projects, hour ${hour}\n`);
    days.push(await countDay(size, { onHour }));
  }
  const file = resolve(import.meta.dirname, '../../infra/cli/cost/counted.json');
  writeFileSync(file, `${JSON.stringify(days, undefined, 2)}\n`);
  console.log(`Wrote ${file}. Now run npm run generate.`);
}
