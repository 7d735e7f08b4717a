/**
 * Polls one project, one call at a time: the production code runs over the in-memory table, a scripted list and a
 * clock that stands still.
 */

import type { PollOptions, PollRequest } from '../../../functions/poller/project/poll.ts';
import { pollProject } from '../../../functions/poller/project/poll-project.ts';
import { emptyMemory } from '../../../functions/poller/project/project-memory.ts';
import type { BusEvent } from '../../../shared/events/render-event.ts';
import type { Operation } from '../../../shared/records/operation-record.ts';
import type { Timestamp } from '../../../shared/records/time.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import type { CallOptions } from '../../../shared/upstream/upstream-client.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import { anOperation, NOON_MS } from '../../builders.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { portsBesidePolls } from '../ports-beside-polls.ts';

export const PROJECT_ID = anOperation().project_id;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Returns whole seconds, as the upstream writes them. */
export const atMs = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}Z`;

const BOOT_AT = '2026-01-15T11:00:00.000000000Z' as Timestamp;

interface OperationCall {
  readonly name: 'list' | 'get';
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  readonly operationId?: string;
  readonly options: CallOptions | undefined;
}

interface ProjectScript {
  /** The newest row comes first. */
  rows: Operation[];
  /** These operations are read one by one, and no page shows them. */
  hidden: Operation[];
  /** A page holds at most this many rows, whatever is asked for. */
  pageRowsMax: number;
  malformedRowCount: number;
  /** It is undefined when the upstream does not say what time it is. */
  serverDateMs: (() => number | undefined) | undefined;
  /** It is called before each call of the upstream. */
  fails: (call: OperationCall) => UpstreamErrorKind | undefined;
}

function failureOf(kind: UpstreamErrorKind): UpstreamError {
  return new UpstreamError({ kind, method: 'GET', path: '/operations', message: kind });
}

export function aProject(fields: Partial<PollOptions> = {}) {
  let nowMs = NOON_MS;
  const clock = { now: () => nowMs, sleep: async () => {} };
  const table = createMemoryTable();
  const store = createBridgeStore(table, 'main', clock);
  const { insights, usualDurationOf } = portsBesidePolls(table, store, clock);
  const script: ProjectScript = {
    rows: [],
    hidden: [],
    pageRowsMax: Number.POSITIVE_INFINITY,
    malformedRowCount: 0,
    serverDateMs: undefined,
    fails: () => undefined,
  };
  const calls: OperationCall[] = [];
  const logs: Readonly<Record<string, unknown>>[] = [];
  const measures: (readonly [metric: string, value: number, name?: string])[] = [];
  const events: Readonly<Record<string, unknown>>[] = [];
  const called = (call: OperationCall) => {
    calls.push(call);
    const kind = script.fails(call);
    if (kind !== undefined) throw failureOf(kind);
  };
  const options: PollOptions = {
    walkLimits: { firstPageRows: 5, widePageRows: 10, pagesMax: 4, overlapMs: 5 * MINUTE_MS },
    backfill: 'open',
    boundStepRows: 1,
    sweepIntervalMs: 1_000 * DAY_MS,
    stallThresholdsMs: {},
    ...fields,
  };
  const deps = {
    upstream: {
      async listOperations(
        { limit = 1_000, cursor }: { limit?: number; cursor?: string },
        callOptions?: CallOptions,
      ) {
        called({ name: 'list', cursor, limit, options: callOptions });
        const start = cursor === undefined ? 0 : script.rows.findIndex(({ id }) => id === cursor) + 1;
        const operations = script.rows.slice(start, start + Math.min(limit, script.pageRowsMax));
        const serverDateMs = script.serverDateMs === undefined ? nowMs : script.serverDateMs();
        const { malformedRowCount } = script;
        return { operations, malformedRowCount, cursor: operations.at(-1)?.id, serverDateMs };
      },
      listProjects: () => Promise.reject(failureOf('not_found')),
      listRunningComputes: async () => [],
      async getOperation({ operationId }: { operationId: string }, callOptions?: CallOptions) {
        called({ name: 'get', operationId, options: callOptions });
        const found = [...script.rows, ...script.hidden].find(({ id }) => id === operationId);
        if (found === undefined) throw failureOf('not_found');
        return found;
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
    insights,
    usualDurationOf,
    telemetry: {
      log: (level: string, event: string, more?: object) => void logs.push({ level, event, ...more }),
      measure: (metric: string, value: number, name?: string) =>
        void measures.push(name === undefined ? [metric, value] : [metric, value, name]),
    },
    options,
  };
  let memory = emptyMemory();
  return {
    deps,
    script,
    calls,
    logs,
    measures,
    events,
    store,
    table,
    memory: () => memory,
    /** Ends the process, and lets another one go on with the table alone. */
    restart: () => {
      memory = emptyMemory();
    },
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    nowMs: () => nowMs,
    /** Returns the project's item as it is stored. */
    stored: () => table.sync.peek(projectKey('main', PROJECT_ID)),
    put: (set: Parameters<typeof table.sync.update>[0]['set']) =>
      void table.sync.update({
        key: projectKey('main', PROJECT_ID),
        set: { kind: 'project', account_id: 'main', project_id: PROJECT_ID, is_visible: true, ...set },
      }),
    poll: (request: Partial<PollRequest> = {}) =>
      pollProject(deps, { projectId: PROJECT_ID, bootAt: BOOT_AT, ...request }, memory),
    /** Returns in short form what was called since the last time. */
    takeCalls: () =>
      calls
        .splice(0)
        .map(({ name, cursor, limit, operationId }) =>
          [name, operationId, cursor, limit].filter((part) => part !== undefined).join(' '),
        ),
    /** Returns what was published since the last time. */
    takeEvents: () => events.splice(0),
  };
}

/** Returns `count` ended operations, newest first, `stepMs` apart. */
export function endedRows(
  count: number,
  { newestMs, stepMs = 10_000, name = 'row' }: { newestMs: number; stepMs?: number; name?: string },
): Operation[] {
  return Array.from({ length: count }, (_, place) =>
    anOperation({
      id: `${name}-${place}`,
      status: 'finished',
      created_at: atMs(newestMs - place * stepMs),
      updated_at: atMs(newestMs - place * stepMs),
    }),
  );
}
