/** Implements the ports of the production code, each with the faults of the real service. */

import type { EventBus } from '../../shared/events/event-bus.ts';
import type { EntryOutcome } from '../../shared/records/journal.ts';
import {
  type Key,
  type Table,
  type Update,
  WORK_INDEX,
  type WorkPage,
  type WorkPageQuery,
  type WorkQuery,
} from '../../shared/store/table.ts';
import type { UpstreamClient } from '../../shared/upstream/upstream-client.ts';
import { UpstreamError, type UpstreamErrorKind } from '../../shared/upstream/upstream-error.ts';
import type { DeliveredEvent } from './check-history.ts';
import type { MemoryTable } from './memory-table.ts';
import type { FaultKind } from './options.ts';
import type { Process } from './scheduler.ts';
import type { UpstreamModel } from './upstream-model.ts';
import type { World } from './world.ts';

class TableFault extends Error {}

/** Shows the index as its readers see it: a change becomes visible at once, or up to five seconds after the write. */
export interface LaggingIndex {
  note(update: Update, before: string | undefined, after: string | undefined): void;
  query(query: WorkQuery): readonly Key[];
  queryPage(query: WorkPageQuery): WorkPage;
}

const INDEX_LAG_MS_MAX = 5_000;

export function createLaggingIndex(world: World): LaggingIndex {
  const changes = new Map<string, { key: Key; atMs: number; work: string | undefined }[]>();
  const seenIn = (id: string, { work, pk }: WorkQuery): Key | undefined => {
    const nowMs = world.scheduler.now();
    const seen = changes.get(id)?.findLast(({ atMs }) => atMs <= nowMs);
    return seen?.work === work && (pk === undefined || seen.key.pk === pk) ? seen.key : undefined;
  };
  return {
    note({ key }, before, after) {
      if (before === after) return;
      const lagMs = world.strikes('index_lag') ? world.random.next() * INDEX_LAG_MS_MAX : 0;
      const id = `${key.pk}\n${key.sk}`;
      const known = changes.get(id) ?? [];
      // Changes of one item become visible in their order, however late.
      const atMs = Math.max(world.scheduler.now() + lagMs, known.at(-1)?.atMs ?? 0);
      changes.set(id, [...known, { key, atMs, work: after }]);
    },
    query: (query) => [...changes.keys()].flatMap((id) => seenIn(id, query) ?? []),
    queryPage(query) {
      const ids = [...changes.keys()];
      const first = query.start === undefined ? 0 : ids.indexOf(query.start['id'] ?? '') + 1;
      const keys: Key[] = [];
      for (const [place, id] of ids.entries()) {
        const key = place < first ? undefined : seenIn(id, query);
        if (key === undefined) continue;
        keys.push(key);
        if (keys.length === query.limit) return { keys, next: { id } };
      }
      return { keys, next: undefined };
    },
  };
}

export function createFaultyTable(
  world: World,
  { table, index, owner }: { table: MemoryTable; index: LaggingIndex; owner: Process },
): Table {
  const apply = (update: Update): 'applied' | 'refused' => {
    const before = table.sync.peek(update.key)?.[WORK_INDEX.partitionKey];
    const result = table.sync.update(update);
    const after = table.sync.peek(update.key)?.[WORK_INDEX.partitionKey];
    index.note(update, before as string | undefined, after as string | undefined);
    return result;
  };
  const { listener } = world;
  type Heard = ReturnType<typeof listener.sent>;
  const read = <T>(effect: () => T, hear: (sent: Heard, got: T) => void = () => {}) => {
    const sent = listener.sent(owner);
    return world.call(owner, () => {
      if (world.strikes('table_read_throttled')) throw new TableFault('throttled');
      const got = effect();
      hear(sent, got);
      return got;
    });
  };

  return {
    get: (key) =>
      read(
        () => table.sync.get(key),
        (sent, item) => listener.read(sent, [key], item === undefined ? [] : [item]),
      ),
    getMany: (keys) =>
      read(
        () => table.sync.getMany(keys),
        (sent, items) => listener.read(sent, keys, items),
      ),
    queryWork: (query) => read(() => index.query(query)),
    queryWorkPage: (query) => read(() => index.queryPage(query)),
    update(update) {
      const sent = listener.sent(owner);
      const hear = (result: 'applied' | 'refused', isKnown: boolean) => {
        if (result === 'applied') listener.wrote(sent, update, table.sync.peek(update.key), isKnown);
        return result;
      };
      return world.call(owner, () => {
        if (world.strikes('table_throttled')) throw new TableFault('throttled');
        const result = apply(update);
        const isLost = world.strikes('table_reply_lost');
        // The SDK repeats the call after a lost reply, so the second answer can be caused by its own first write.
        const isRepeated = !isLost && world.strikes('table_sdk_retry_after_apply');
        hear(result, !isLost && !isRepeated);
        if (isLost) throw new TableFault('reply lost');
        return isRepeated ? hear(apply(update), true) : result;
      });
    },
  };
}

export function createFaultyBus(world: World, delivered: DeliveredEvent[], owner: Process): EventBus {
  const outcomeOf = (): EntryOutcome => {
    if (world.strikes('bus_entry_refused')) return { kind: 'refused', code: 'InvalidArgument' };
    if (world.strikes('bus_entry_failed')) return { kind: 'retry', code: 'InternalFailure' };
    return { kind: 'accepted' };
  };
  const { listener } = world;
  return {
    publish(events) {
      const sent = listener.sent(owner);
      const hear = (outcomes: readonly EntryOutcome[], isAnswered: boolean) => {
        const heard = events.map(({ detail }, place) => ({
          detail,
          isTaken: outcomes[place]?.kind === 'accepted',
        }));
        listener.published(sent, heard, isAnswered);
      };
      return world.call(owner, () => {
        if (world.strikes('bus_call_failed')) {
          hear([], false);
          return events.map(() => ({ kind: 'retry', code: 'ThrottlingException' }));
        }
        const outcomes = events.map(outcomeOf);
        events.forEach(({ detailType, detail }, place) => {
          if (outcomes[place]?.kind === 'accepted') delivered.push({ detailType, detail });
        });
        const isLost = world.strikes('bus_reply_lost');
        hear(outcomes, !isLost);
        return isLost ? events.map(() => ({ kind: 'retry', code: 'TimeoutError' })) : outcomes;
      });
    },
  };
}

const UPSTREAM_FAULTS: readonly (readonly [FaultKind, UpstreamErrorKind])[] = [
  ['upstream_rate_limited', 'rate_limited'],
  ['upstream_unavailable', 'unavailable'],
  ['upstream_network', 'network'],
  ['upstream_malformed', 'malformed_answer'],
  ['upstream_not_found', 'not_found'],
  ['upstream_unauthorized', 'unauthorized'],
];

export function createFaultyUpstream(
  world: World,
  model: UpstreamModel,
  owner: Process,
): Pick<UpstreamClient, 'listProjects' | 'listOperations' | 'getOperation'> {
  const call = <T>(signal: AbortSignal | undefined, effect: () => T) => {
    if (signal?.aborted) return Promise.reject(upstreamError('cancelled'));
    return world.call(owner, () => {
      for (const [fault, kind] of UPSTREAM_FAULTS) if (world.strikes(fault)) throw upstreamError(kind);
      return effect();
    });
  };
  const nowMs = () => world.scheduler.now();

  return {
    listProjects: (_query, options) =>
      call(options?.signal, () => {
        const isPartial = world.strikes('upstream_partial_projects');
        const [first, ...rest] = model.projectIds;
        const visible = isPartial ? rest : model.projectIds;
        return {
          projects: visible.map((id) => ({ id, name: id, created_at: '2026-01-01T00:00:00Z' })) as never,
          malformedRowCount: 0,
          cursor: visible.at(-1),
          unavailableProjectIds: isPartial && first !== undefined ? [first] : [],
          serverDateMs: nowMs(),
        };
      }),
    listOperations: ({ projectId, limit, cursor }, options) =>
      call(options?.signal, () => {
        const query = { limit: limit ?? 1_000, ...(cursor !== undefined && { cursor }) };
        return { ...model.list(projectId, query, nowMs()), malformedRowCount: 0 };
      }),
    getOperation: ({ operationId }, options) =>
      call(options?.signal, () => {
        const row = model.read(operationId, nowMs());
        if (row === undefined) throw upstreamError('not_found');
        return row;
      }),
  };
}

function upstreamError(kind: UpstreamErrorKind): UpstreamError {
  return new UpstreamError({ kind, method: 'GET', path: '/simulated', message: kind });
}
