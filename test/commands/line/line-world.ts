/**
 * One run on virtual time: callers queue commands, workers send them, a poller records what the upstream does, and all
 * of them are killed at any point. The queue, the table, the rule and the worker are the product's own.
 */

import { acceptCommand, createKnownProjects } from '../../../functions/api/upstream/accept-command.ts';
import { commandsQueue, lockReleasedPattern } from '../../../functions/commands/invocation.ts';
import type { LineDeps } from '../../../functions/commands/line.ts';
import { work } from '../../../functions/commands/work.ts';
import { createLocalFifoQueue, type QueueMessage } from '../../../infra/local/aws/sqs/event-source.ts';
import { createQueueStore, type QueueStore } from '../../../shared/commands/queue-store.ts';
import { groupOf, type Wakes } from '../../../shared/commands/wakes.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import { matchesEventPattern, parseEventPattern } from '../../../shared/events/event-pattern.ts';
import { settleCommands } from '../../../shared/protocol/record-derived.ts';
import { recordOperation } from '../../../shared/protocol/record-operation.ts';
import { relayRecords } from '../../../shared/protocol/relay-records.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { commandKey, projectKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import { calls } from '../../../shared/upstream/calls/calls.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { aClock, only } from '../../builders.ts';
import type { DeliveredEvent } from '../../simulation/check-history.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { deriveOptions, NO_FAULTS, type SimulationOptions } from '../../simulation/options.ts';
import { createFaultyBus, createFaultyTable, createLaggingIndex } from '../../simulation/ports.ts';
import type { Process } from '../../simulation/scheduler.ts';
import { createWorld, type World } from '../../simulation/world.ts';
import { createLockingUpstream, type LockingUpstream, UPSTREAM_URL } from './locking-upstream.ts';
import { theseAccounts } from './these-accounts.ts';

const ACCOUNT_ID = 'main';
export const START_MS = Date.UTC(2026, 0, 15, 12);
const DEADLINE_MS = 900_000;

const POLL_MS = 3_000;
const WORKERS = 2;

interface Accepted {
  readonly commandId: string;
  readonly projectId: string;
  readonly endpointId: string;
  readonly deadlineAtMs: number;
}

export interface LineWorld {
  readonly world: World;
  readonly upstream: LockingUpstream;
  readonly accepted: Accepted[];
  readonly delivered: DeliveredEvent[];
  /** The store as somebody sees it who is never killed. */
  readonly queue: QueueStore;
  readonly deadLetterCount: () => number;
  /** A caller queues a command for the project; resolves when the API has answered or has died. */
  accept(projectId: string): Promise<void>;
  runUntil(atMs: number): Promise<void>;
}

export interface LineWorldOptions {
  readonly seed: number;
  readonly projectIds: readonly string[];
  readonly faults: Partial<SimulationOptions['faults']>;
  /** How often a message is handed out once more although its work was done. */
  readonly redelivery: number;
  /** The workers may send this many requests a minute. Without it there is no limit. */
  readonly permitsPerMinute?: number;
}

/**
 * Returns what takes a permit and returns 0, or takes none and returns the time until there is one. Permits that nothing
 * takes are kept up to the burst of production.
 */
function createPermits(now: () => number, permitsPerMinute: number | undefined): () => number {
  if (permitsPerMinute === undefined) return () => 0;
  const everyMs = 60_000 / permitsPerMinute;
  const burst = Math.floor(0.08 * permitsPerMinute);
  let nextAtMs = Number.NEGATIVE_INFINITY;
  return () => {
    const freeAtMs = Math.max(nextAtMs, now() - (burst - 1) * everyMs);
    if (freeAtMs > now()) return freeAtMs - now();
    nextAtMs = freeAtMs + everyMs;
    return 0;
  };
}

export function createLineWorld(lineOptions: LineWorldOptions): LineWorld {
  const { seed, projectIds, faults, redelivery, permitsPerMinute } = lineOptions;
  const options = { ...deriveOptions(seed), faults: { ...NO_FAULTS, ...faults } };
  const world = createWorld(options, START_MS);
  const { scheduler, random } = world;
  const memory = createMemoryTable();
  const index = createLaggingIndex(world);
  const upstream = createLockingUpstream(world);
  const delivered: DeliveredEvent[] = [];
  const accepted: Accepted[] = [];
  const released = parseEventPattern(lockReleasedPattern);
  let ids = 0;
  const newId = () => `id-${++ids}`;
  const takePermit = createPermits(() => scheduler.now(), permitsPerMinute);
  const fifo = createLocalFifoQueue(commandsQueue, { clock: aClock(() => scheduler.now()), newId });

  const tableFor = (owner: Process, role: 'api' | 'commands' | 'poller'): Table =>
    createFaultyTable(world, { table: memory.as(role), index, owner });
  const wakesFor = (owner: Process): Wakes => ({
    send: (wakes) =>
      world.call(owner, () => {
        for (const wake of wakes) {
          const { account_id, project_id, id } = wake;
          const body = JSON.stringify({ account_id, project_id });
          fifo.send({ body, groupId: groupOf(wake), deduplicationId: id });
        }
      }),
  });
  /** Publishes through the faulty bus; the rule then invokes a worker, as EventBridge does. */
  const busFor = (owner: Process): EventBus => {
    const bus = createFaultyBus(world, delivered, owner);
    return {
      async publish(events) {
        const outcomes = await bus.publish(events);
        for (const [place, event] of events.entries()) {
          const detail = JSON.parse(event.detail) as object;
          const shown = { source: event.source, 'detail-type': event.detailType, detail };
          const isMeant = outcomes[place]?.kind === 'accepted' && matchesEventPattern(released, shown);
          if (isMeant) void invoke(shown);
        }
        return outcomes;
      },
    };
  };
  const accountFor = (owner: Process, table: Table): LineDeps['account'] => {
    const clock = scheduler.clockOf(owner);
    const store = createBridgeStore(table, ACCOUNT_ID, clock);
    const client = only<UpstreamClient>({
      getOperation: async () => Promise.reject(new Error('the worker reads no operation')),
    });
    const recording = {
      accountId: ACCOUNT_ID,
      bus: busFor(owner),
      store,
      upstream: client,
      telemetry: silentTelemetry,
      clock,
      settleWithinMs: 600_000,
    };
    const key = createSecret('upstream-key');
    const call = {
      base: new URL(UPSTREAM_URL),
      apiKey: { current: async () => key, refresh: async () => key },
      clock,
      random,
      budget: { take: async () => {}, pauseFor: () => {} },
      fetch: upstream.fetchFor(owner),
      timeoutSignal: () => new AbortController().signal,
    };
    return { upstream: call, work: store, recording };
  };
  const lineDepsFor = (owner: Process): LineDeps => {
    const table = tableFor(owner, 'commands');
    const clock = scheduler.clockOf(owner);
    const store = createBridgeStore(table, ACCOUNT_ID, clock);
    return {
      queue: createQueueStore(table, ACCOUNT_ID, { clock, noteUnreadable: () => {}, newId }),
      account: accountFor(owner, table),
      isPaused: () => false,
      generation: () => 1,
      readRecord: async (projectId, id) =>
        (await store.readCommands([commandKey(ACCOUNT_ID, projectId, id)]))[0],
      admit: async () => takePermit(),
      wishForReading: (projectId) => store.wishForReading(projectId, POLL_MS),
      queueKey: async () => createSecret('a-queue-key'),
      clock,
      telemetry: silentTelemetry,
    };
  };

  /** Resolves to undefined when the process was killed or the invocation took longer than Lambda allows. */
  async function invoke(event: unknown) {
    const owner: Process = { name: newId(), isCrashed: false, clockSkewMs: 0 };
    const line = lineDepsFor(owner);
    const accounts = theseAccounts(
      new Map([[ACCOUNT_ID, { line, callbacks: undefined, idle: async () => {} }]]),
    );
    const handBack = (receiptHandle: string, pauseMs: number) =>
      world.call(owner, () => fifo.hide(receiptHandle, pauseMs));
    const ports = { wakes: wakesFor(owner), handBack, clock: line.clock, telemetry: silentTelemetry, newId };
    const deps = { accounts, ...ports };
    const done = work(deps, event).catch(() => undefined);
    const late = scheduler.delay(undefined, 60_000).then(() => undefined);
    const answer = await Promise.race([done, late]);
    // Lambda ends what has run into its time-out.
    owner.isCrashed = true;
    return answer;
  }

  const handle = async (batch: readonly QueueMessage[]): Promise<void> => {
    const Records = batch.map(({ messageId, body, receiveCount }) => {
      const attributes = { ApproximateReceiveCount: String(receiveCount) };
      return { messageId, receiptHandle: messageId, body, attributes };
    });
    const answer = await invoke({ Records });
    if (answer === undefined) return;
    const failed = new Set(answer.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
    for (const { messageId } of batch) if (!failed.has(messageId)) fifo.delete(messageId);
    if (random.next() < redelivery && world.isChaotic) void invoke({ Records });
  };

  const runWorker = async (): Promise<void> => {
    for (;;) {
      const batch = fifo.receive(commandsQueue.batchSize);
      if (batch.length === 0) await scheduler.delay(undefined, fifo.size > 0 ? 200 : 1_000);
      else await handle(batch);
    }
  };

  const sweep = async (): Promise<void> => {
    for (;;) {
      await scheduler.delay(undefined, 60_000);
      void invoke({});
    }
  };

  /** The statuses that polls have recorded. A poll that would find nothing is left out, to save time. */
  const statuses = new Map<string, string>();
  const hasNews = (projectId: string): boolean =>
    upstream.operationsOf(projectId).some(({ id, status }) => statuses.get(id) !== status) ||
    memory.sync.queryWork({ work: ACCOUNT_ID, pk: projectKey(ACCOUNT_ID, projectId).pk }).length > 0;

  /** Records what the upstream shows of a project, as a poll does, and publishes it. */
  const poll = async (owner: Process, projectId: string): Promise<void> => {
    const table = tableFor(owner, 'poller');
    const clock = scheduler.clockOf(owner);
    const store = createBridgeStore(table, ACCOUNT_ID, clock);
    const { recording } = accountFor(owner, table);
    const contextOf = () => ({
      account_id: ACCOUNT_ID,
      nowMs: clock.now(),
      requestedMs: clock.now(),
      observed_by: 'poll' as const,
    });
    const rows = upstream.operationsOf(projectId).filter(({ id, status }) => statuses.get(id) !== status);
    const recorded = await store.readOperations(
      projectId,
      rows.map(({ id }) => id),
    );
    for (const row of rows) {
      const outcome = await recordOperation(
        { clock, upstream: recording.upstream, store, contextOf },
        recorded.records.get(row.id),
        row,
        clock.now(),
      );
      if ('record' in outcome) statuses.set(row.id, outcome.record.status);
    }
    const entries = await store.findWork(projectId);
    const records = await store.readRecords(entries.map(({ key }) => key));
    const commands = records.filter((record) => record.kind === 'command');
    const settled = await settleCommands({ store, clock }, commands);
    const pending = [...records, ...settled].filter(({ published, revision }) => published < revision);
    await relayRecords({ ...recording, store }, pending);
  };

  const runPoller = async (projectId: string): Promise<void> => {
    for (;;) {
      await scheduler.delay(undefined, POLL_MS * (0.5 + random.next()));
      if (!hasNews(projectId)) continue;
      const owner: Process = { name: newId(), isCrashed: false, clockSkewMs: 0 };
      await Promise.race([poll(owner, projectId).catch(() => {}), scheduler.delay(undefined, 20_000)]);
      owner.isCrashed = true;
    }
  };

  for (const projectId of projectIds)
    memory.sync.update({ key: projectKey(ACCOUNT_ID, projectId), set: { kind: 'project' } });
  for (let worker = 0; worker < WORKERS; worker++) void runWorker();
  void sweep();
  for (const projectId of projectIds) void runPoller(projectId);

  const calm: Process = { name: 'calm', isCrashed: false, clockSkewMs: 0 };
  return {
    world,
    upstream,
    accepted,
    delivered,
    queue: createQueueStore(memory, ACCOUNT_ID, {
      clock: scheduler.clockOf(calm),
      noteUnreadable: () => {},
      newId,
    }),
    deadLetterCount: () => fifo.deadLetters.length,
    runUntil: (atMs) => scheduler.runUntil(atMs),
    async accept(projectId) {
      const owner: Process = { name: newId(), isCrashed: false, clockSkewMs: 0 };
      const clock = scheduler.clockOf(owner);
      const table = tableFor(owner, 'api');
      const queue = createQueueStore(table, ACCOUNT_ID, { clock, noteUnreadable: () => {}, newId });
      const asking = { admit: async () => 0, clock, telemetry: silentTelemetry };
      const { upstream: theirs } = accountFor(owner, table);
      const projects = createKnownProjects({ table, accountId: ACCOUNT_ID, upstream: theirs, ...asking });
      const queueKey = async () => createSecret('a-queue-key');
      const wakes = wakesFor(owner);
      const deps = { queue, projects, wakes, queueKey, clock, telemetry: silentTelemetry };
      const { signal } = new AbortController();
      const endpointId = `ep-${newId()}`;
      const request = {
        requestId: `command-${endpointId}`,
        caller: { account_id: ACCOUNT_ID, client_id: 'deployer' },
        target: { id: 'restartEndpoint', call: calls.restartEndpoint, isSecret: false },
        ids: { project_id: projectId, endpoint_id: endpointId },
        query: {},
        body: undefined,
        idempotencyKey: undefined,
      };
      const place = { projectId, deadlineMs: DEADLINE_MS, beginRecord: () => {}, signal };
      const answer = await Promise.race([
        acceptCommand(deps, request, place).catch(() => undefined),
        scheduler.delay(undefined, 28_000).then(() => undefined),
      ]);
      if (answer?.kind !== 'accepted') return;
      const { command_id: commandId, deadline_at_ms: deadlineAtMs } = answer.command;
      accepted.push({ commandId, projectId, endpointId, deadlineAtMs });
    },
  };
}
