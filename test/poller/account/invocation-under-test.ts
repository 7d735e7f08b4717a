/**
 * Sets up what the loops of one invocation share, for tests of one loop at a time: a real store, a scripted list, and
 * a clock that a test moves.
 */

import type { AccountDeps, InvocationDeps } from '../../../functions/poller/account/account-deps.ts';
import { emptyAccountMemory, noCounts } from '../../../functions/poller/account/account-memory.ts';
import type { AccountOrigin } from '../../../functions/poller/account/discovery/origin.ts';
import { readListPage } from '../../../functions/poller/account/discovery/project-list.ts';
import { leftoversAtStart } from '../../../functions/poller/account/relay-leftovers.ts';
import { forgetReadings } from '../../../functions/poller/account/status/project-readings.ts';
import { createBoundReports } from '../../../functions/poller/account/status/report-bound.ts';
import { createPollPlanner, type PollResult } from '../../../functions/poller/planner/poll-planner.ts';
import type { BusEvent } from '../../../shared/events/render-event.ts';
import { firstAccountRecord } from '../../../shared/records/account-record.ts';
import type { Operation } from '../../../shared/records/operation-record.ts';
import type { Timestamp } from '../../../shared/records/time.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { accountKey, projectKey } from '../../../shared/store/keys.ts';
import { createRequestBudget, type Permit } from '../../../shared/upstream/request-budget.ts';
import type { CallOptions } from '../../../shared/upstream/upstream-client.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { NOON_MS } from '../../builders.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { portsBesidePolls } from '../ports-beside-polls.ts';

export const BOOT_AT = '2026-01-15T11:00:00.000000000Z' as Timestamp;

interface ListPage {
  readonly projects?: readonly { readonly id: string; readonly created_at?: string }[];
  readonly unavailableProjectIds?: readonly string[];
  readonly malformedRowCount?: number;
  readonly cursor?: string | undefined;
}

interface AccountScript {
  /** Holds the pages by cursor. The page at the beginning has the name `''`. */
  pages: Readonly<Record<string, ListPage | UpstreamErrorKind>>;
  operations: Readonly<Record<string, readonly Operation[] | UpstreamErrorKind>>;
  serverDateMs: (() => number | undefined) | undefined;
}

interface ListCall {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  readonly options: CallOptions | undefined;
}

const failureOf = (kind: UpstreamErrorKind) =>
  new UpstreamError({ kind, method: 'GET', path: '/', message: kind });

export const PERMIT: Permit = { use: () => true };

/** Every sleep of a loop moves the clock by its duration and calls `hooks.onSleep`. */
export function anInvocation(fields: Partial<AccountDeps> = {}) {
  let nowMs = NOON_MS;
  const sleeps: number[] = [];
  const hooks = { onSleep: (_durationMs: number): void | Promise<void> => {} };
  const clock = {
    now: () => nowMs,
    async sleep(durationMs: number, signal?: AbortSignal) {
      if (signal?.aborted) throw signal.reason;
      sleeps.push(durationMs);
      nowMs += durationMs;
      await hooks.onSleep(durationMs);
    },
  };
  const table = createMemoryTable();
  const store = createBridgeStore(table, 'main', clock);
  const script: AccountScript = { pages: { '': {} }, operations: {}, serverDateMs: undefined };
  const listCalls: ListCall[] = [];
  const operationCalls: string[] = [];
  const operationOptions: (CallOptions | undefined)[] = [];
  const logs: (Readonly<Record<string, unknown>> & { event: string })[] = [];
  const measures: (readonly [string, number])[] = [];
  const events: Readonly<Record<string, unknown>>[] = [];
  const dateOf = () => (script.serverDateMs === undefined ? nowMs : script.serverDateMs());
  const planner = createPollPlanner({
    requestsPerMinute: 600,
    pollIntervalMsMin: 5_000,
    failureBackoffMsMax: 300_000,
    listing: { usualIntervalMs: 60_000, hintIntervalMsMin: 1_250 },
  });
  /** Notes what the planner was given. */
  const planned: {
    readonly pages: unknown[][];
    readonly reports: (readonly [projectId: string, result: PollResult, atMs: number])[];
    readonly added: string[];
    readonly removed: string[];
  } = {
    pages: [],
    reports: [],
    added: [],
    removed: [],
  };
  const accountDeps: AccountDeps = {
    ...portsBesidePolls(table, store, clock),
    upstream: {
      async listProjects({ cursor, limit }, options) {
        listCalls.push({ cursor, limit, options });
        const page = script.pages[cursor ?? ''];
        if (typeof page === 'string') throw failureOf(page);
        const { projects = [], unavailableProjectIds = [], malformedRowCount = 0 } = page ?? {};
        return {
          projects: [...projects],
          unavailableProjectIds: [...unavailableProjectIds],
          malformedRowCount,
          cursor: page?.cursor,
          serverDateMs: dateOf(),
        };
      },
      async listOperations({ projectId }, options) {
        operationCalls.push(projectId);
        operationOptions.push(options);
        const rows = script.operations[projectId] ?? [];
        if (typeof rows === 'string') throw failureOf(rows);
        return { operations: [...rows], malformedRowCount: 0, cursor: undefined, serverDateMs: dateOf() };
      },
      listRunningComputes: async () => [],
      async getOperation() {
        throw failureOf('not_found');
      },
    },
    store,
    random: seededRandom(1),
    bus: {
      async publish(published: readonly BusEvent[]) {
        for (const { detailType, detail } of published)
          events.push({ type: detailType, ...(JSON.parse(detail) as object) });
        return published.map(() => ({ kind: 'accepted' as const }));
      },
    },
    clock,
    telemetry: {
      log: (level, event, more) => void logs.push({ level, event, ...more }),
      measure: (metric, value) => void measures.push([metric, value]),
    },
    planner: {
      ...planner,
      addProjects(ids, histories) {
        planned.added.push(...ids);
        planner.addProjects(ids, histories);
      },
      removeProjects(ids) {
        planned.removed.push(...ids);
        planner.removeProjects(ids);
      },
      report(projectId, result, atMs) {
        planned.reports.push([projectId, result, atMs]);
        planner.report(projectId, result, atMs);
      },
      reportPage(page, shown, atMs) {
        planned.pages.push([page, shown, atMs]);
        return planner.reportPage(page, shown, atMs);
      },
    },
    budget: createRequestBudget({ clock, requestsPerMinute: 600, burst: 6 }),
    lease: { acquire: async () => true, holds: () => true, release: async () => {} },
    options: {
      walkLimits: { firstPageRows: 100, widePageRows: 1_000, pagesMax: 20, overlapMs: 300_000 },
      backfill: 'open',
      boundStepRows: 1,
      sweepIntervalMs: 1_000 * 24 * 3_600_000,
      stallThresholdsMs: {},
    },
    limits: {
      pollsAtOnce: 2,
      requestsPerMinute: 600,
      failingMsMax: 180_000,
      workIntervalMs: 1_000,
    },
    ...fields,
  };
  const memory = emptyAccountMemory();
  const begin = () => {
    const stop = new AbortController();
    const deps: InvocationDeps = {
      ...accountDeps,
      bounds: createBoundReports(accountDeps.telemetry),
      onLost: (projectId) => forgetReadings(memory.readings, projectId),
      signal: stop.signal,
    };
    const origin: AccountOrigin = { bootAt: undefined, isUnreadable: false, fromMs: nowMs };
    const { projects, listings } = memory;
    const discovery = { projects, listings, origin, addedNow: new Set<string>() };
    /** Reads every page that the planner lets a worker read now. */
    const readDuePages = async () => {
      for (let next = planner.next(nowMs); next.kind !== 'wait'; next = planner.next(nowMs))
        if (next.kind === 'list') await readListPage(deps, discovery, next, PERMIT);
    };
    /** Asks for a listing, and reads every page that is due then. */
    const list = async () => {
      planner.askForListing();
      await readDuePages();
    };
    const tools = { readDuePages, list, leftovers: leftoversAtStart(), counts: noCounts() };
    return { stop, deps, origin, discovery, ...tools };
  };
  return {
    ...begin(),
    /** Begins the next invocation of the same process, with the same memory. */
    begin,
    accountDeps,
    memory,
    script,
    listCalls,
    operationCalls,
    operationOptions,
    logs,
    measures,
    events,
    planned,
    table,
    store,
    sleeps,
    hooks,
    nowMs: () => nowMs,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    storedProject: (projectId: string) => table.sync.peek(projectKey('main', projectId)),
    storedAccount: () => table.sync.peek(accountKey('main')),
    /** Stores the account as an earlier process has left it. */
    know: async ({ isListed = true, bootAt = BOOT_AT } = {}) => {
      await store.record({ ...firstAccountRecord('main', bootAt), is_listed: isListed }, undefined);
    },
    takeEvents: () => events.splice(0).map(({ type, project_id, reason }) => [type, project_id ?? reason]),
  };
}

export const named = (...ids: readonly string[]) => ids.map((id) => ({ id }));
