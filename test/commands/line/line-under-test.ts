/**
 * One line on a table in memory, whose clock and whose upstream's answers the test sets one by one. Everything else is the
 * product's own.
 */

import { randomUUID } from 'node:crypto';
import { acceptCommand, createKnownProjects } from '../../../functions/api/upstream/accept-command.ts';
import type { LineDeps } from '../../../functions/commands/line.ts';
import { type IsOver, workLine } from '../../../functions/commands/work.ts';
import { createQueueStore, openAnswer } from '../../../shared/commands/queue-store.ts';
import type { QueuedCommand } from '../../../shared/commands/queued-command.ts';
import { recordOperation } from '../../../shared/protocol/record-operation.ts';
import type { Operation } from '../../../shared/records/operation-record.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import type { LogFields, LogLevel, Telemetry } from '../../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { commandKey, projectKey, projectLineKey, queuedCommandKey } from '../../../shared/store/keys.ts';
import type { UnreadableItem } from '../../../shared/store/unreadable.ts';
import { calls } from '../../../shared/upstream/calls/calls.ts';
import type { UpstreamClient } from '../../../shared/upstream/upstream-client.ts';
import { NOON_MS, only } from '../../builders.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';

export const ACCOUNT_ID = 'main';
export const PROJECT_ID = 'bold-sound-12345678';
export const DEADLINE_MS = 900_000;
const UPSTREAM_URL = 'https://upstream.test/api/v2';

/** An answer of the upstream, or what happens instead of one. */
type Reply = Response | (() => Response | Promise<Response>);

interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
}

interface LogLine extends LogFields {
  readonly level: LogLevel;
  readonly event: string;
}

interface PublishedEvent {
  readonly detailType: string;
  readonly detail: Record<string, unknown>;
}

interface AcceptOptions {
  readonly traceparent?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

export function createLineUnderTest(changes: (deps: LineDeps) => Partial<LineDeps> = () => ({})) {
  let nowMs = NOON_MS;
  const replies: Reply[] = [];
  const sent: SentRequest[] = [];
  const logs: LogLine[] = [];
  const measured: string[] = [];
  const published: PublishedEvent[] = [];
  const unreadable: UnreadableItem[] = [];
  const wishes: string[] = [];
  const memory = createMemoryTable();
  const clock = { now: () => nowMs, monotonic: () => nowMs, sleep: async () => {} };
  const telemetry: Telemetry = {
    log: (level, event, fields) => logs.push({ level, event, ...fields }),
    measure: (metric) => measured.push(metric),
  };
  const queue = createQueueStore(memory.as('commands'), ACCOUNT_ID, {
    clock,
    noteUnreadable: (item) => unreadable.push(item),
    newId: randomUUID,
  });
  const store = createBridgeStore(memory.as('commands'), ACCOUNT_ID, clock);
  const key = createSecret('upstream-key');
  const queueKey = createSecret('a-queue-key');
  const upstream = {
    base: new URL(UPSTREAM_URL),
    apiKey: { current: async () => key, refresh: async () => key },
    clock,
    random: { next: () => 0.5 },
    budget: { take: async () => {}, pauseFor: () => {} },
    timeoutSignal: () => new AbortController().signal,
    fetch: async (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input, init);
      const { pathname, search } = new URL(request.url);
      const body = await request.text();
      sent.push({ method: request.method, path: pathname + search, headers: request.headers, body });
      const reply = replies.shift();
      if (reply === undefined) throw new Error('The upstream was asked more often than the test expects');
      return typeof reply === 'function' ? reply() : reply;
    },
  };
  const recording = {
    accountId: ACCOUNT_ID,
    store,
    upstream: only<UpstreamClient>({
      getOperation: async () => Promise.reject(new Error('The worker reads no operation')),
    }),
    clock,
    telemetry,
    settleWithinMs: 600_000,
    bus: {
      publish: async (events: readonly { readonly detailType: string; readonly detail: string }[]) =>
        events.map(({ detailType, detail }) => {
          published.push({ detailType, detail: JSON.parse(detail) });
          return { kind: 'accepted' as const };
        }),
    },
  };
  const standard: LineDeps = {
    queue,
    isPaused: () => false,
    generation: () => 1,
    account: { upstream, work: store, recording },
    readRecord: async (projectId, id) =>
      (await store.readCommands([commandKey(ACCOUNT_ID, projectId, id)]))[0],
    admit: async () => 0,
    wishForReading: async (projectId) => void wishes.push(projectId),
    queueKey: async () => queueKey,
    clock,
    telemetry,
  };
  const deps: LineDeps = { ...standard, ...changes(standard) };
  const projects = createKnownProjects({
    table: memory,
    accountId: ACCOUNT_ID,
    upstream,
    admit: async () => 0,
    clock,
    telemetry,
  });
  memory.sync.update({ key: projectKey(ACCOUNT_ID, PROJECT_ID), set: { kind: 'project' } });
  const commandOf = async (id: string): Promise<QueuedCommand> => {
    const command = await queue.readCommand(id);
    if (command === undefined) throw new Error(`There is no command ${id}`);
    return command;
  };

  return {
    deps,
    memory,
    queue,
    store,
    sent,
    logs,
    measured,
    published,
    unreadable,
    wishes,
    commandOf,
    pass: (durationMs: number) => {
      nowMs += durationMs;
    },
    /** The upstream gives these answers, one for each request. */
    answers: (...more: readonly Reply[]) => void replies.push(...more),
    work: (isOver: IsOver = () => false) => workLine(deps, PROJECT_ID, isOver),
    line: () => queue.readLine(PROJECT_ID),
    answerOf: async (id: string) => {
      const { answer } = await commandOf(id);
      return answer?.body === undefined ? undefined : openAnswer(answer.body, queueKey, id);
    },
    /** A caller queues the restart of a compute, or with a body its change. */
    async accept(id: string, { traceparent, body }: AcceptOptions = {}): Promise<void> {
      const call = body === undefined ? 'restartEndpoint' : 'updateEndpoint';
      const request = {
        requestId: id,
        caller: { account_id: ACCOUNT_ID, client_id: 'deployer' },
        target: { id: call, call: calls[call], isSecret: false },
        ids: { project_id: PROJECT_ID, endpoint_id: 'ep-little-smoke-851426' },
        query: {},
        body,
        idempotencyKey: undefined,
        traceparent,
      };
      const wakes = { send: async () => {} };
      const accepting = { queue, projects, wakes, queueKey: deps.queueKey, clock, telemetry };
      const { kind } = await acceptCommand(accepting, request, {
        projectId: PROJECT_ID,
        deadlineMs: DEADLINE_MS,
        beginRecord: () => {},
        signal: new AbortController().signal,
      });
      if (kind !== 'accepted') throw new Error(`The queue did not take the command: ${kind}`);
    },
    /** The poller reads this operation. */
    async record(operation: Operation): Promise<void> {
      const { records } = await store.readOperations(PROJECT_ID, [operation.id]);
      const contextOf = () => ({
        account_id: ACCOUNT_ID,
        nowMs,
        requestedMs: nowMs,
        observed_by: 'poll' as const,
      });
      const poller = createBridgeStore(memory.as('poller'), ACCOUNT_ID, clock);
      await recordOperation(
        { clock, upstream: recording.upstream, store: poller, contextOf },
        records.get(operation.id),
        operation,
        nowMs,
      );
    },
    async changeItem(id: string, set: Record<string, string>): Promise<void> {
      await memory.update({ key: queuedCommandKey(ACCOUNT_ID, id), set });
    },
    deleteItem: (id: string) => memory.sync.remove(queuedCommandKey(ACCOUNT_ID, id)),
    deleteLine: () => memory.sync.remove(projectLineKey(ACCOUNT_ID, PROJECT_ID)),
  };
}
