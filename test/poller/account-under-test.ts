/** Runs the production poller on virtual time, between an upstream that a test scripts and the in-memory table. */

import { REQUEST_BURST } from '../../functions/poller/account/account-budget.ts';
import type { AccountDeps } from '../../functions/poller/account/account-deps.ts';
import { type AccountMemory, emptyAccountMemory } from '../../functions/poller/account/account-memory.ts';
import { createTally } from '../../functions/poller/account/status/publish-status.ts';
import { accountLimits } from '../../functions/poller/create-account.ts';
import { createPollPlanner } from '../../functions/poller/planner/poll-planner.ts';
import type { StallThresholdsMs } from '../../functions/poller/project/poll.ts';
import type { WalkLimits } from '../../functions/poller/project/walk.ts';
import { recordCommand } from '../../shared/protocol/record-command.ts';
import type { Command } from '../../shared/records/command-record.ts';
import type { JournalRecord } from '../../shared/records/journal-record.ts';
import type { Backfill, Operation } from '../../shared/records/operation-record.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { silentTelemetry } from '../../shared/runtime/telemetry.ts';
import { readAccountStatus, writeAccountStatus } from '../../shared/store/account-status-store.ts';
import { createRequestBudget, type RequestBudget } from '../../shared/upstream/request-budget.ts';
import type { CallOptions, UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../shared/upstream/upstream-error.ts';
import { anOperation } from '../builders.ts';
import { dependenciesOf, invoke } from '../simulation/by-hand.ts';
import { deriveOptions, NO_FAULTS } from '../simulation/options.ts';
import { setTheStage } from '../simulation/simulate.ts';
import { NOTHING_ODD } from '../simulation/upstream-model.ts';

export const PROJECT_ID = anOperation().project_id;

type LogLine = Readonly<Record<string, unknown>> & { readonly event: string };

interface Measure {
  readonly metric: string;
  readonly value: number;
}

/** Says what the upstream answers now. A test changes it between invocations. */
interface Script {
  projectIds: string[];
  unavailableProjectIds: string[];
  /** A page of the project list holds at most this many rows, whatever is asked for. */
  projectPageRowsMax: number;
  /** This many rows at the end of the project list cannot be read. */
  malformedProjectRowCount: number;
  /** The newest operation comes first. */
  operations: Operation[];
  /** The list does not show these operations. */
  hidden: Operation[];
  /** Each page of operations holds at most this many rows. It is drawn anew for each page. */
  pageRowsMax: () => number;
  /** Returns when the project was created, as the project list says, or undefined when the list does not say. */
  createdAtOf: (projectId: string) => string | undefined;
  /** Returns whether the secret holds another key than the one that the upstream has refused. */
  hasAnotherKey: () => boolean;
  /** It is called before every call of the upstream. */
  fails: (call: {
    readonly name: string;
    readonly projectId?: string;
    readonly cursor?: string;
  }) => UpstreamErrorKind | undefined;
}

export function anAccount({
  lingerMs,
  requestsPerMinute,
  pollsAtOnce,
  fixedProjectIds,
  ...options
}: {
  readonly walkLimits?: WalkLimits;
  readonly backfill?: Backfill;
  readonly sweepIntervalMs?: number;
  readonly lingerMs?: number;
  readonly requestsPerMinute?: number;
  readonly pollsAtOnce?: number;
  readonly fixedProjectIds?: readonly string[];
  readonly stallThresholdsMs?: StallThresholdsMs;
} = {}) {
  const nothingByItself = { operationCount: 0, historyCount: 0, faults: NO_FAULTS };
  const settings = {
    ...deriveOptions(1),
    backfill: 'open' as const,
    pollIntervalMs: 5_000,
    ...nothingByItself,
  };
  const stage = setTheStage(settings, NOTHING_ODD);
  const { world } = stage;
  const script: Script = {
    projectIds: [PROJECT_ID],
    unavailableProjectIds: [],
    projectPageRowsMax: Number.POSITIVE_INFINITY,
    malformedProjectRowCount: 0,
    operations: [],
    hidden: [],
    pageRowsMax: () => Number.POSITIVE_INFINITY,
    createdAtOf: () => undefined,
    hasAnotherKey: () => false,
    fails: () => undefined,
  };
  const calls: string[] = [];
  const logs: LogLine[] = [];
  const measures: Measure[] = [];
  let deps = wire();
  let memory = emptyAccountMemory();
  return {
    script,
    deps: () => deps,
    memory: () => memory,
    /** Ends the process and begins another one, with nothing but the table. */
    restart: (): void => {
      deps = wire();
      memory = emptyAccountMemory();
    },
    calls,
    logs,
    measures,
    table: stage.table,
    /** Does what the bridge does once the upstream has answered a command. */
    command: async (command: Command, operations: readonly Operation[]): Promise<void> => {
      void recordCommand({ ...deps, settleWithinMs: 600_000 }, command, operations);
      await world.scheduler.runUntil(world.scheduler.now() + 1_000);
    },
    /** Writes a new record, as another process of the bridge would. */
    record: async (record: JournalRecord): Promise<void> => {
      void deps.store.record(record, undefined);
      await world.scheduler.runUntil(world.scheduler.now() + 1_000);
    },
    nowMs: () => world.scheduler.now(),
    /** Runs one invocation of `durationMs` virtual time, in a warm environment or a new one. */
    poll: async (durationMs: number, environment: AccountMemory = memory): Promise<void> => {
      const endsAtMs = world.scheduler.now() + durationMs + 1_000;
      void invoke(deps, environment, durationMs);
      await world.scheduler.runUntil(endsAtMs);
    },
    /** Begins an invocation that goes on while the test does. */
    begin: (durationMs: number): void => void invoke(deps, memory, durationMs),
    /** Deletes what has expired, as DynamoDB does some time later. */
    expire: (): number => stage.table.sync.expire(world.scheduler.now()),
    pass: (durationMs: number) => world.scheduler.runUntil(world.scheduler.now() + durationMs),
    /** Returns what was published about projects and operations, and about the health of the account. */
    events: (): readonly Readonly<Record<string, unknown>>[] =>
      published().filter(({ type }) => type !== 'Account Watched'),
    /** Returns the events that say that the account was read for the first time. */
    firstSights: () => published().filter(({ type }) => type === 'Account Watched'),
  };

  function published(): readonly Readonly<Record<string, unknown>>[] {
    return stage.delivered.map(({ detailType, detail }) => ({
      type: detailType,
      ...(JSON.parse(detail) as Record<string, unknown>),
    }));
  }

  function wire(): AccountDeps {
    const wired = dependenciesOf(stage, { name: 'test', isCrashed: false, clockSkewMs: 0 });
    const { accountId } = wired.store;
    const limited = requestsPerMinute === undefined ? undefined : limitedTo(requestsPerMinute, wired.clock);
    return {
      ...wired,
      ...limited,
      key: { hasAnother: async () => script.hasAnotherKey(), isReadable: () => true },
      upstream: scriptedUpstream(script, {
        calls,
        nowMs: () => world.scheduler.now(),
        budget: limited?.budget,
      }),
      telemetry: {
        log: (level, event, fields) => void logs.push({ level, event, ...fields }),
        measure: (metric, value) => void measures.push({ metric, value }),
      },
      options: { ...wired.options, sweepIntervalMs: 90 * 24 * 3_600_000, ...options },
      limits: {
        ...wired.limits,
        ...(lingerMs !== undefined && { lingerMs }),
        ...(requestsPerMinute !== undefined && { requestsPerMinute }),
        ...(pollsAtOnce !== undefined && { pollsAtOnce }),
      },
      ...(fixedProjectIds && { fixedProjectIds }),
      status: {
        read: () => readAccountStatus(stage.table, accountId),
        write: (status) => writeAccountStatus(stage.table, status),
        tally: tallied(),
      },
    };
  }
}

/** Creates the planner and the budget of a usual account, with its usual bounds. */
function limitedTo(requestsPerMinute: number, clock: Clock) {
  return {
    budget: createRequestBudget({ clock, requestsPerMinute, burst: REQUEST_BURST }),
    planner: createPollPlanner({
      ...accountLimits.planner,
      requestsPerMinute,
      pollIntervalMsMin: 5_000,
      listing: { usualIntervalMs: accountLimits.listIntervalMs, hintIntervalMsMin: 1_250 },
    }),
  };
}

function tallied() {
  const { tally } = createTally(silentTelemetry);
  return tally;
}

function scriptedUpstream(
  script: Script,
  {
    calls,
    nowMs,
    budget,
  }: { calls: string[]; nowMs: () => number; budget: Pick<RequestBudget, 'take'> | undefined },
): UpstreamClient {
  const check = (name: string, where: { projectId?: string; cursor?: string } = {}) => {
    calls.push([name, where.projectId, where.cursor].filter(Boolean).join(' '));
    const kind = script.fails({ name, ...where });
    if (kind !== undefined) throw new UpstreamError({ kind, method: 'GET', path: `/${name}`, message: kind });
  };
  /** Every request of an account with a limit has a permit, as in production. */
  const spend = async ({ permit, signal }: CallOptions = {}) => {
    if (permit?.use() === true) return;
    await budget?.take(signal).catch(() => {
      throw refusal('cancelled');
    });
  };
  const refusal = (kind: UpstreamErrorKind) =>
    new UpstreamError({ kind, method: 'GET', path: '/', message: kind });
  const missing = () => refusal('not_found');
  return {
    async listProjects({ cursor, limit = 10 }, options) {
      await spend(options);
      check('projects', cursor === undefined ? {} : { cursor });
      const { unavailableProjectIds, projectPageRowsMax, malformedProjectRowCount } = script;
      const start = cursor === undefined ? 0 : script.projectIds.indexOf(cursor) + 1;
      const end = start + Math.min(limit, projectPageRowsMax);
      const projects = script.projectIds
        .slice(start, end)
        .map((id) => ({ id, created_at: script.createdAtOf(id) }));
      const isLast = end >= script.projectIds.length && projects.length > 0;
      return {
        projects,
        malformedRowCount: isLast ? malformedProjectRowCount : 0,
        cursor: projects.at(-1)?.id,
        unavailableProjectIds,
        serverDateMs: nowMs(),
      };
    },
    async listOperations({ projectId, limit = 1_000, cursor }, options) {
      await spend(options);
      check('operations', { projectId, ...(cursor !== undefined && { cursor }) });
      if (!script.projectIds.includes(projectId)) throw missing();
      const rows = script.operations.filter(({ project_id }) => project_id === projectId);
      const start = cursor === undefined ? 0 : rows.findIndex(({ id }) => id === cursor) + 1;
      const page = rows.slice(start, start + Math.min(limit, script.pageRowsMax()));
      return { operations: page, malformedRowCount: 0, cursor: page.at(-1)?.id, serverDateMs: nowMs() };
    },
    listRunningComputes: async () => [],
    async getOperation({ projectId, operationId }, options) {
      await spend(options);
      check('operation', { projectId });
      const found = [...script.operations, ...script.hidden].find(({ id }) => id === operationId);
      if (found === undefined) throw missing();
      return found;
    },
  };
}
