/**
 * `npm run bench -- micro` measures what the planner and the parsing of a page cost. The times depend on the machine;
 * the ratios hardly do.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { activityOf } from '../../functions/poller/planner/project-activity.ts';
import { bundleEntry, FOR_LAMBDA } from '../../infra/aws/bundle.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import {
  operationListSchema,
  operationSchema,
  parseRows,
  plainOperation,
} from '../../shared/upstream/calls/schemas.ts';

const PROJECT_COUNT = 5_000;
const DECISION_COUNT = 200_000;
const PAGE_ROWS = 100;
const PAGE_COUNT = 2_000;
const NOON_MS = Date.UTC(2026, 0, 15, 12);
const PROJECT_ID = 'bold-sound-12345678';

/** A function of 128 MB has this much heap when its code and its buffers are subtracted. */
const HEAP_FLAGS = ['--max-old-space-size=40', '--max-semi-space-size=1'];

// This runs first, before other measurements leave garbage that would be collected meanwhile.
measureEngine();
measurePlanner();
measureMemory();

function measurePlanner(): void {
  const planner = createPollPlanner({
    pollIntervalMsMin: 1_000,
    requestsPerMinute: 700,
    failureBackoffMsMax: 300_000,
    listing: undefined,
  });
  planner.addProjects(Array.from({ length: PROJECT_COUNT }, (_, index) => `project-${index}`));
  const quiet = { openSinceMs: undefined, uses: [], arrivalCount: 8, observedMs: 86_400_000 };
  const result = { hasFailed: false, foundTransition: false, hasLeftovers: false };
  const startedMs = performance.now();
  let nowMs = 0;
  for (let count = 0; count < DECISION_COUNT; ) {
    const decision = planner.next(nowMs);
    if (decision.kind !== 'poll') {
      nowMs += 100;
      continue;
    }
    count += 1;
    planner.report(decision.projectId, { ...result, activity: quiet }, nowMs);
  }
  const microseconds = ((performance.now() - startedMs) / DECISION_COUNT) * 1_000;
  console.log(`planner, ${PROJECT_COUNT} projects: ${microseconds.toFixed(1)} us a decision with its report`);
}

/** Measures a usual poll: the page is parsed and checked, and one changed row becomes an event. */
function measureEngine(): void {
  const body = JSON.stringify({ operations: Array.from({ length: PAGE_ROWS }, (_, index) => rowOf(index)) });
  const schema = operationSchema(PROJECT_ID);
  const parse = () => JSON.parse(body) as unknown;
  const read = () => {
    const { operations } = operationListSchema.parse(JSON.parse(body));
    const { rows } = parseRows(operations, schema, (row) => plainOperation(row, PROJECT_ID));
    const activity = activityOf(rows, false, NOON_MS);
    const context = {
      account_id: 'main',
      nowMs: NOON_MS,
      requestedMs: NOON_MS,
      observed_by: 'poll',
    } as const;
    return [activity, rows[0] && decideNextRecord(undefined, rows[0], context)];
  };
  const [parseOnly, whole] = timesOf(parse, read);
  console.log(
    `a page of ${PAGE_ROWS} operations (${body.length} bytes): JSON.parse ${parseOnly.toFixed(0)} us, ` +
      `with validation, activity and one event ${whole.toFixed(0)} us, ratio ${(whole / parseOnly).toFixed(2)}`,
  );
}

/** Measures the poller bundled as it is deployed, in a process of its own. */
function measureMemory(): void {
  const folder = mkdtempSync(join(tmpdir(), 'memory-'));
  try {
    const bundle = join(folder, 'probe.mjs');
    bundleEntry(join(import.meta.dirname, 'memory-probe.ts'), bundle, FOR_LAMBDA);
    const out = execFileSync(process.execPath, [...HEAP_FLAGS, bundle], { encoding: 'utf8' });
    const { pollCount, peak, heap } = JSON.parse(out) as { pollCount: number; peak: number; heap: number };
    console.log(
      `the whole poller with ${PROJECT_COUNT} projects, after ${pollCount} polls: ${peak} MiB resident at most, ` +
        `${heap} MiB of it heap (${HEAP_FLAGS.join(' ')})`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function rowOf(index: number) {
  const time = new Date(NOON_MS - index * 60_000).toISOString();
  return {
    id: `a07f8772-1877-4da9-a939-3a3ae62d1${String(index).padStart(3, '0')}`,
    project_id: PROJECT_ID,
    branch_id: 'br-dawn-scene-747675',
    endpoint_id: 'ep-little-smoke-851426',
    action: index % 2 === 0 ? 'suspend_compute' : 'start_compute',
    status: 'finished',
    failures_count: 0,
    created_at: time,
    updated_at: time,
    total_duration_ms: 300,
  };
}

/**
 * Returns medians in microseconds. The tasks alternate, because the pace of the machine and of its garbage collector
 * changes.
 */
function timesOf(...tasks: readonly [() => unknown, () => unknown]): readonly [number, number] {
  const times: readonly [number[], number[]] = [[], []];
  for (let count = 0; count < PAGE_COUNT; count++) {
    for (const place of [0, 1] as const) {
      const startedMs = performance.now();
      tasks[place]();
      times[place].push((performance.now() - startedMs) * 1_000);
    }
  }
  const median = (list: readonly number[]) => list.toSorted((a, b) => a - b)[PAGE_COUNT / 2] ?? 0;
  return [median(times[0]), median(times[1])];
}
