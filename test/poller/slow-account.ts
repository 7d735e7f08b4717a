/**
 * Runs the production poller on virtual time, minute after minute as Lambda runs it, with a table and a bus whose
 * calls take a given time, and kills it at the time-out like a Lambda function.
 */

import type { AccountDeps } from '../../functions/poller/account/account-deps.ts';
import { emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { createLease } from '../../functions/poller/account/lease.ts';
import { pollAccount } from '../../functions/poller/account/poll-account.ts';
import { createTally } from '../../functions/poller/account/status/publish-status.ts';
import { STOP_RESERVE_MS } from '../../functions/poller/account/wind-up.ts';
import { accountLimits, pollOptionsFor } from '../../functions/poller/create-account.ts';
import { createPollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import { pollerSchedule } from '../../shared/config/poller-config.ts';
import type { EventBus } from '../../shared/events/event-bus.ts';
import type { BusEvent } from '../../shared/events/render-event.ts';
import type { EntryOutcome } from '../../shared/records/journal.ts';
import { decideNextRecord } from '../../shared/records/operation-record.ts';
import { seededRandom } from '../../shared/runtime/random.ts';
import type { FigureName, LogFields, Telemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createBridgeStore } from '../../shared/store/bridge-store.ts';
import type { Table } from '../../shared/store/table.ts';
import { createRequestBudget } from '../../shared/upstream/request-budget.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { UpstreamError } from '../../shared/upstream/upstream-error.ts';
import { aContext, anOperation } from '../builders.ts';
import { createMemoryTable } from '../simulation/memory-table.ts';
import { createScheduler, type Process } from '../simulation/scheduler.ts';
import { createUpstreamModel, NOTHING_ODD } from '../simulation/upstream-model.ts';
import { portsBesidePolls } from './ports-beside-polls.ts';

const ACCOUNT_ID = 'main';
const START_MS = Date.UTC(2026, 0, 15, 12);
const UPSTREAM_MS = 40;

export interface SlowOptions {
  readonly seed: number;
  readonly projectCount: number;
  /** This many operations begin while the poller runs. */
  readonly operationCount: number;
  /** This many operations exist when the poller begins, and it publishes them as well. */
  readonly historyCount?: number;
  readonly minutes: number;
  readonly tableMs: number;
  readonly busMs: number;
  readonly requestsPerMinute?: number;
  readonly lingerMs?: number;
}

interface Counts {
  pollCount: number;
  /** Counts the entries that the bus took, copies among them. */
  takenCount: number;
  readonly copiesOfId: Map<string, number>;
  /** Counts the invocations that the time-out ended with work under way. */
  killedCount: number;
  endedCount: number;
  statusWrittenCount: number;
  /** It is the longest time from the stop signal to the end of an invocation. */
  windUpMsMax: number;
  readonly measured: Map<FigureName, number>;
  readonly logged: { readonly event: string; readonly fields: LogFields | undefined }[];
}

export function aSlowAccount(options: SlowOptions) {
  const scheduler = createScheduler(START_MS);
  const endMs = START_MS + options.minutes * pollerSchedule.everyMs;
  const model = createUpstreamModel(
    {
      startMs: START_MS,
      endMs,
      projectCount: options.projectCount,
      operationCount: options.operationCount,
      historyCount: options.historyCount ?? 0,
      visibleLateMsMax: 0,
      chance: { ...NOTHING_ODD, fails: 0.1 },
    },
    seededRandom(options.seed),
  );
  const table = createMemoryTable().as('poller');
  const bus = {
    /** Decides what becomes of an event. */
    outcomeOf: (_event: BusEvent): EntryOutcome => ({ kind: 'accepted' }),
  };
  /** Calls of this name are never answered from this time on. */
  const hanging = { fromMs: Number.POSITIVE_INFINITY, name: '' };
  const isAnswered = (name: string) => name !== hanging.name || scheduler.now() < hanging.fromMs;
  const counts: Counts = {
    pollCount: 0,
    takenCount: 0,
    copiesOfId: new Map(),
    killedCount: 0,
    endedCount: 0,
    statusWrittenCount: 0,
    windUpMsMax: 0,
    measured: new Map(),
    logged: [],
  };
  let owner = startProcess();

  return {
    counts,
    bus,
    /** Lets calls of this name never be answered once `durationMs` have passed. */
    hangFrom(durationMs: number, name: string): void {
      Object.assign(hanging, { fromMs: scheduler.now() + durationMs, name });
    },
    table,
    model,
    nowMs: () => scheduler.now(),
    /** Stores ended operations whose one event has not been published, as an outage of the bus leaves them behind. */
    async leaveUnsent(count: number): Promise<void> {
      const store = createBridgeStore(table, ACCOUNT_ID, scheduler.clockOf(owner.process));
      for (let place = 0; place < count; place++) await store.record(anUnsentRecord(place), undefined);
    },
    /** Insights and names have a revision, too, and nothing to publish. */
    unsentCount: () =>
      table.sync.items().filter(({ published, revision }) => Number(published) < Number(revision)).length,
    copyCount: () => [...counts.copiesOfId.values()].reduce((sum, copies) => sum + copies - 1, 0),
    /** Runs one invocation a minute. The next one begins when the previous one has ended or was killed. */
    async run(minutes: number): Promise<void> {
      for (let minute = 0; minute < minutes; minute++) await invokeOnce();
    },
    /** Runs an invocation that is killed with whatever is under way. */
    async killAfter(durationMs: number): Promise<void> {
      const { process, deps, memory } = owner;
      const { signal } = new AbortController();
      void pollAccount(deps, memory, { signal, leaseMs: durationMs }).catch(() => undefined);
      await scheduler.runUntil(scheduler.now() + durationMs);
      process.isCrashed = true;
      owner = startProcess();
    },
  };

  function anUnsentRecord(place: number) {
    const projectId = model.projectIds[place % model.projectIds.length] ?? '';
    const reading = anOperation({
      id: `unsent-${String(place).padStart(6, '0')}`,
      project_id: projectId,
      status: 'finished',
    });
    const record = decideNextRecord(undefined, reading, aContext({ nowMs: START_MS - 3_600_000 + place }));
    if (record === undefined) throw new Error('A first reading is always recorded');
    return record;
  }

  async function invokeOnce(): Promise<void> {
    const beganMs = scheduler.now();
    const { process, deps, memory } = owner;
    const stop = new AbortController();
    const stopMs = pollerSchedule.timeoutMs - STOP_RESERVE_MS;
    void scheduler.delay(process, stopMs).then(() => stop.abort(new Error('deadline')));
    let endedMs: number | undefined;
    const running = pollAccount(deps, memory, { signal: stop.signal, leaseMs: stopMs });
    void running
      .then((report) => {
        counts.pollCount += report.pollCount;
        counts.endedCount += 1;
        endedMs = scheduler.now();
      })
      .catch((error: unknown) => {
        endedMs = scheduler.now();
        counts.logged.push({ event: 'invocation.failed', fields: { reason: String(error) } });
      });
    await scheduler.runUntil(beganMs + pollerSchedule.everyMs);
    if (endedMs === undefined) await scheduler.runUntil(beganMs + pollerSchedule.timeoutMs);
    if (endedMs === undefined) {
      counts.killedCount += 1;
      process.isCrashed = true;
      owner = startProcess();
    } else counts.windUpMsMax = Math.max(counts.windUpMsMax, endedMs - beganMs - stopMs);
  }

  function startProcess() {
    const process: Process = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
    return { process, deps: dependenciesOf(process), memory: emptyAccountMemory() };
  }

  function dependenciesOf(process: Process): AccountDeps {
    const clock = scheduler.clockOf(process);
    const requestsPerMinute = options.requestsPerMinute ?? 350;
    const { telemetry, tally } = createTally(noting(counts));
    const slow = slowTable(process);
    const store = createBridgeStore(slow, ACCOUNT_ID, clock);
    const budget = createRequestBudget({ clock, requestsPerMinute, burst: 6, startsEmpty: true });
    return {
      ...portsBesidePolls(slow, store, clock),
      upstream: { ...slowUpstream(process), listRunningComputes: async () => [] },
      random: seededRandom(1),
      store,
      status: {
        read: () => readAccountStatus(slow, ACCOUNT_ID),
        write: async (status) => {
          await writeAccountStatus(slow, status);
          counts.statusWrittenCount += 1;
        },
        tally,
      },
      bus: slowBus(process),
      budget,
      planner: createPollPlanner({
        ...accountLimits.planner,
        requestsPerMinute,
        pollIntervalMsMin: 1_000,
        listing: { usualIntervalMs: accountLimits.listIntervalMs, hintIntervalMsMin: undefined },
      }),
      clock,
      telemetry,
      lease: createLease({
        store,
        clock,
        monotonicMs: () => scheduler.now(),
        newId: () => `invocation-${scheduler.now()}`,
        budget,
      }),
      options: pollOptionsFor(options.historyCount === undefined ? 'open' : 'all', {}),
      limits: {
        ...accountLimits.run,
        requestsPerMinute,
        ...(options.lingerMs !== undefined && { lingerMs: options.lingerMs }),
      },
    };
  }

  async function called<T>(process: Process, durationMs: number, effect: () => T): Promise<T> {
    await scheduler.delay(process, durationMs / 2);
    const result = effect();
    await scheduler.delay(process, durationMs / 2);
    return result;
  }

  function slowTable(process: Process): Table {
    const { tableMs } = options;
    const through = <A extends readonly unknown[], T>(name: string, call: (...args: A) => T) => {
      return (...args: A): Promise<T> => {
        if (!isAnswered(name)) return new Promise(() => {});
        return called(process, tableMs, () => call(...args));
      };
    };
    return {
      ...table,
      get: through('get', (key) => table.sync.get(key)),
      getMany: through('getMany', (keys) => keys.flatMap((key) => table.sync.get(key) ?? [])),
      queryWork: through('queryWork', (query) => table.sync.queryWork(query)),
      queryWorkPage: through('findWorkPage', (query) => table.sync.queryWorkPage(query)),
      update: through('update', (update) => table.sync.update(update)),
    };
  }

  /** Sends ten entries a call, one call after the other, as the adapter of EventBridge does. */
  function slowBus(process: Process): EventBus {
    return {
      async publish(events) {
        if (!isAnswered('publish')) return new Promise(() => {});
        const outcomes: EntryOutcome[] = [];
        for (let place = 0; place < events.length; place += 10) {
          const batch = events.slice(place, place + 10);
          const answers = batch.map((event) => bus.outcomeOf(event));
          await called(process, options.busMs, () => takeAll(batch, answers));
          outcomes.push(...answers);
        }
        return outcomes;
      },
    };
  }

  function takeAll(batch: readonly BusEvent[], answers: readonly EntryOutcome[]): void {
    for (const [place, event] of batch.entries()) take(event, answers[place]);
  }

  function take({ detail }: BusEvent, outcome: EntryOutcome | undefined): void {
    if (outcome?.kind !== 'accepted') return;
    const { id } = JSON.parse(detail) as { id: string };
    counts.takenCount += 1;
    counts.copiesOfId.set(id, (counts.copiesOfId.get(id) ?? 0) + 1);
  }

  function slowUpstream(
    process: Process,
  ): Pick<UpstreamClient, 'listProjects' | 'listOperations' | 'getOperation'> {
    const call = <T>(signal: AbortSignal | undefined, effect: () => T): Promise<T> => {
      const cancelled = () =>
        new UpstreamError({ kind: 'cancelled', method: 'GET', path: '/', message: 'cancelled' });
      if (signal?.aborted) return Promise.reject(cancelled());
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(cancelled()), { once: true });
      });
      return Promise.race([called(process, UPSTREAM_MS, effect), aborted]);
    };
    return {
      listProjects: ({ cursor }, request) =>
        call(request?.signal, () => ({
          projects: (cursor === undefined ? model.projectIds : []).map((id) => ({ id })) as never,
          malformedRowCount: 0,
          cursor: cursor === undefined ? model.projectIds.at(-1) : undefined,
          unavailableProjectIds: [],
          serverDateMs: scheduler.now(),
        })),
      listOperations: ({ projectId, limit, cursor }, request) =>
        call(request?.signal, () => {
          const query = { limit: limit ?? 1_000, ...(cursor !== undefined && { cursor }) };
          return { ...model.list(projectId, query, scheduler.now()), malformedRowCount: 0 };
        }),
      getOperation: ({ operationId }, request) =>
        call(request?.signal, () => {
          const row = model.read(operationId, scheduler.now());
          if (row !== undefined) return row;
          throw new UpstreamError({ kind: 'not_found', method: 'GET', path: '/', message: 'not found' });
        }),
    };
  }
}

function noting({ measured, logged }: Counts): Telemetry {
  return {
    log: (_level, event, fields) => void logged.push({ event, fields }),
    measure: (metric, value) => void measured.set(metric, (measured.get(metric) ?? 0) + value),
  };
}
