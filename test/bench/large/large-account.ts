/**
 * Runs the poller of one large account in a process of its own: a cold start until every project is known again, and
 * then a minute of polls. Upstream and table keep nothing of a project, so the memory of the process is the poller's.
 * It prints what it measured as a line of JSON.
 */

import { emptyAccountMemory } from '../../../functions/poller/account/account-memory.ts';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import type { PollPlanner } from '../../../functions/poller/planner/poll-planner.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import type { Item, Key, Table } from '../../../shared/store/table.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createScheduler, type Scheduler } from '../../simulation/scheduler.ts';
import { ACCOUNT_ID, benchPlanner, createBridgeProcess } from '../bridge/bridge-process.ts';
import { timedFetch, timedTable, upstreamDurations } from '../bridge/timed-ports.ts';
import { urlOf } from '../bridge/virtual-upstream.ts';
import { settledAnswer } from '../settled-account.ts';
import { MATCHED } from '../world/world.ts';
import type { LargeFigures } from './large-figures.ts';

const [projectCount = 0, requestsPerMinute = 0] = process.argv.slice(2).map(Number);
const START_MS = Date.UTC(2026, 0, 15, 12);

/** The cold start is given up after this virtual time. */
const COLD_MS_MAX = 10 * 60_000;
const POLLING_MS = 20_000;
/** The engine compiles the planner during its first decisions, which is measured apart. */
const FIRST_DECISION_COUNT = 10_000;

const recorded = await recordOneProject();
const scheduler = createScheduler(START_MS);
const known = { count: 0 };
const planner = countingPlanner(
  benchPlanner({ requestsPerMinute, pollIntervalMs: 5_000, hasHints: true }),
  known,
);
const settledTable = await accountTable(recorded, projectCount);
const cpuBefore = process.cpuUsage();
const end = startPoller(scheduler, settledTable, planner, projectCount);
while (known.count < projectCount && scheduler.now() - START_MS < COLD_MS_MAX)
  await scheduler.runUntil(scheduler.now() + 250);
const coldMs = scheduler.now() - START_MS;
const { user, system } = process.cpuUsage(cpuBefore);
await scheduler.runUntil(scheduler.now() + POLLING_MS);
end();
const decide = decisionTimer(planner, scheduler.now());
const firstDecisionUs = decide(FIRST_DECISION_COUNT);
const figures: LargeFigures = {
  projects: projectCount,
  requests_per_minute: requestsPerMinute,
  known: known.count,
  cold_start_virtual_s: coldMs / 1_000,
  cold_start_processor_s: (user + system) / 1e6,
  first_decision_us: firstDecisionUs,
  decisions: projectCount,
  decision_us: decide(projectCount),
  memory_mib: process.resourceUsage().maxRSS / 1_024,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);

/** Lets the poller record one project, as the process before this one has recorded all of them. */
async function recordOneProject(): Promise<readonly Item[]> {
  const table = createMemoryTable();
  const early = createScheduler(START_MS - 3_600_000);
  const settings = { requestsPerMinute: 60, pollIntervalMs: 1_000, hasHints: true };
  const stop = startPoller(early, table.as('poller'), benchPlanner(settings), 1);
  await early.runUntil(START_MS - 3_480_000);
  stop();
  await early.runUntil(START_MS - 3_400_000);
  return table.sync.items().filter(({ sk }) => sk !== 'LEASE');
}

function startPoller(time: Scheduler, table: Table, decides: PollPlanner, count: number): () => void {
  const clock = time.clockOf({ name: 'large', isCrashed: false, clockSkewMs: 0 });
  const random = seededRandom(1);
  const { delays } = MATCHED;
  const deps = createBridgeProcess(
    {
      requestsPerMinute: Math.max(60, requestsPerMinute),
      pollIntervalMs: 5_000,
      hasHints: true,
      planner: () => decides,
    },
    {
      fetch: timedFetch(
        async (input) => answer(time, urlOf(input), count),
        clock,
        upstreamDurations(delays, random),
        async () => {},
      ),
      table: timedTable(table, clock, delays.tableMs),
      bus: { publish: async (events) => events.map(() => ({ kind: 'accepted' }) as const) },
      clock,
      random,
    },
  );
  const stop = new AbortController();
  const leaseMs = COLD_MS_MAX + POLLING_MS;
  void pollAccount(deps, emptyAccountMemory(), { signal: stop.signal, leaseMs });
  return () => stop.abort(new Error('the measurement is over'));
}

/** Every project has the record of the one that was recorded, and nothing else is kept but what belongs to the account. */
async function accountTable(items: readonly Item[], count: number): Promise<Table> {
  const table = createMemoryTable();
  // The status counts the projects of the process before, which had all of them.
  table.sync.replaceAll(
    items.map((item) => (item.sk === 'STATUS' ? { ...item, project_count: count } : item)),
  );
  const own = table.as('poller');
  const template = items.find(({ sk }) => sk === projectKey(ACCOUNT_ID, '').sk);
  if (template === undefined || count === 0) throw new Error('No project was recorded before the cold start');
  const recordOf = (key: Key): Item[] =>
    key.sk === template.sk ? [{ ...template, ...key, project_id: key.pk.split('#').at(-1) }] : [];
  const isOfProject = (pk: string) => pk.startsWith(projectKey(ACCOUNT_ID, '').pk);
  return {
    ...own,
    get: async (key) => (isOfProject(key.pk) ? recordOf(key)[0] : own.get(key)),
    getMany: async (keys) =>
      keys.some(({ pk }) => isOfProject(pk)) ? keys.flatMap(recordOf) : own.getMany(keys),
    update: async (update) => (isOfProject(update.key.pk) ? 'applied' : own.update(update)),
  };
}

function countingPlanner(decides: PollPlanner, counts: { count: number }): PollPlanner {
  return {
    ...decides,
    addProjects(ids, histories) {
      // Each round of the list shows every project again.
      counts.count += ids.filter((id) => decides.historyOf(id) === undefined).length;
      decides.addProjects(ids, histories);
    },
  };
}

/**
 * Returns a function that lets the planner decide this many polls, in which nothing has happened, and returns the microseconds of the
 * processor for one of them with its report. As many decisions as there are projects are one round: each of them meets a project that
 * none has touched for ten minutes.
 */
function decisionTimer(decides: PollPlanner, fromMs: number): (decisionCount: number) => number {
  const activity = { openSinceMs: undefined, uses: [], arrivalCount: 8, observedMs: 86_400_000 };
  const result = { hasFailed: false, foundTransition: false, hasLeftovers: false, activity };
  let nowMs = fromMs;
  return (decisionCount) => {
    const before = process.cpuUsage();
    for (let count = 0; count < decisionCount; ) {
      const decision = decides.next(nowMs);
      nowMs += 60_000 / requestsPerMinute;
      // A page that cannot be read comes again later, so that no list is timed here.
      if (decision.kind === 'list') decides.reportPage(decision.page, undefined, nowMs);
      if (decision.kind !== 'poll') continue;
      count += 1;
      decides.report(decision.projectId, result, nowMs);
    }
    const { user: userUs, system: systemUs } = process.cpuUsage(before);
    return (userUs + systemUs) / decisionCount;
  };
}

function answer(time: Scheduler, url: URL, count: number): Response {
  const body = settledAnswer({ projectCount: count, startMs: START_MS - 86_400_000 }, url);
  return new Response(JSON.stringify(body), {
    headers: { 'content-type': 'application/json', date: new Date(time.now()).toUTCString() },
  });
}
