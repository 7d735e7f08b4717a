/**
 * Runs the poller of one lane with several accounts at its door: each has a service of its own, and all have one table and one
 * bus. Time is virtual, and every call of a port takes some of it.
 */

import { createPollerHandler } from '../../../functions/poller/create-handler.ts';
import { createAccountStore } from '../../../shared/accounts/account-store.ts';
import { pollerEnvironment } from '../../../shared/config/poller-config.ts';
import { readConfig } from '../../../shared/runtime/read-config.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { type Key, KeysUnreadError, type Table } from '../../../shared/store/table.ts';
import { createMemoryTable } from '../../simulation/memory-table.ts';
import { createScheduler, type Process } from '../../simulation/scheduler.ts';
import { createMemoryIndexes } from '../../store/memory-indexes.ts';
import { createMemoryPartitions } from '../../store/memory-partitions.ts';
import { MINUTE_MS } from './bridge.ts';
import { distinct, type Published } from './promises.ts';
import { createService, type Service } from './service.ts';

const ONE_WAY_MS = 5;
const RESERVE_MS = 6_000;

type Settings<Id extends string> = Readonly<Partial<Record<Id, object>>>;

/** `settings` are those of an account beside its id, its address and its key. */
export function severalAccounts<Id extends string>(ids: readonly [Id, ...Id[]], settings?: Settings<Id>) {
  const watched = { ids: ids as readonly Id[], settings };
  const scheduler = createScheduler(Date.UTC(2026, 0, 15, 12, 0, 0));
  const table = createMemoryTable();
  const services = Object.fromEntries(
    ids.map((id) => [id, createService(() => scheduler.now())]),
  ) as Readonly<Record<Id, Service>>;
  const accepted: Published[] = [];
  const logs: Readonly<Record<string, unknown>>[] = [];
  const walkAgesMs: number[] = [];
  const dials = { isUnread: (_key: Key): boolean => false };
  let callCount = 0;
  let killedAt: number | undefined;
  let running: ReturnType<typeof begin> | undefined;

  return {
    services,
    /** The bridge watches these accounts, with these settings, from the next invocation on. */
    watched,
    table,
    /** The table is too busy to read these keys together with others. */
    dials,
    logs,
    /** Both accounts and their lane have measured these ages of the oldest reading. */
    walkAgesMs,
    nowMs: () => scheduler.now(),
    callCount: () => callCount,
    /** An administrator lets the account rest, or lets it go on. */
    async setState(id: Id, state: 'active' | 'paused'): Promise<void> {
      const clock = scheduler.clockOf({ name: 'administrator', isCrashed: false, clockSkewMs: 0 });
      const ports = { clock, newId: () => `${id} ${state} ${scheduler.now()}` };
      const accounts = createAccountStore(table, createMemoryPartitions(table, 100), ports);
      const found = await accounts.get(id);
      const change = { state, changed_by: 'an-administrator' };
      if (found === undefined) await accounts.add({ account_id: id, ...change });
      else await accounts.change(found, change);
    },
    /** The process dies at this call of a port, counted from now on, and the next invocation begins another one. */
    killAt(call: number): void {
      killedAt = callCount + call;
    },
    async run(durationMs: number): Promise<void> {
      const endsAtMs = scheduler.now() + durationMs;
      while (scheduler.now() < endsAtMs) {
        if (running === undefined || running.process.isCrashed || running.process.isFrozen) running = begin();
        void running.handle(scheduler.now() + MINUTE_MS + RESERVE_MS).catch(() => {});
        await scheduler.runUntil(scheduler.now() + MINUTE_MS);
      }
    },
    /** The process stands still, and the next invocation begins another one. The returned function lets it go on. */
    freeze(): () => void {
      const process = running?.process;
      if (process !== undefined) process.isFrozen = true;
      return () => process && scheduler.thaw(process);
    },
    /** Gives the project and its operations to the other account. */
    move(projectId: string, from: Id, to: Id): void {
      const rows = services[from].rows().filter((row) => row.project_id === projectId);
      services[from].removeProject(projectId);
      services[to].addProject(projectId, new Date(CREATED_MS).toISOString());
      for (const row of rows) services[to].put(row);
      for (const { id } of rows) services[from].remove(id);
    },
    events: (type?: string) =>
      distinct(accepted).filter((event) => (type ?? event.type) === event.type && event.type !== WATCHED),
    copies: () => accepted,
  };

  function begin() {
    const process: Process = { name: 'poller', isCrashed: false, clockSkewMs: 0 };
    const clock = scheduler.clockOf(process);
    const via = async <T>(effect: () => T | Promise<T>): Promise<T> => {
      if (process.isCrashed) return new Promise<never>(() => {});
      callCount += 1;
      const isLast = callCount === killedAt;
      await scheduler.delay(process, ONE_WAY_MS);
      const result = await effect();
      if (isLast) process.isCrashed = true;
      await scheduler.delay(process, ONE_WAY_MS);
      return result;
    };
    const behind = <P extends object>(port: P): P =>
      Object.fromEntries(
        Object.entries(port).map(([name, method]) => [
          name,
          (...args: unknown[]) => via(() => (method as (...args: unknown[]) => unknown)(...args)),
        ]),
      ) as P;
    const secret = { current: async () => createSecret('a-key'), refresh: async () => createSecret('a-key') };
    const telemetry = {
      log: (level: string, event: string, fields: object = {}) => void logs.push({ level, event, ...fields }),
      measure: (metric: string, value: number) => {
        if (metric === 'WalkAgeMs') walkAgesMs.push(value);
      },
      flush: () => {},
    };
    const sync = table.as('poller').sync;
    const calls: Table = {
      get: (key) => via(() => sync.get(key)),
      getMany: (keys) =>
        via(() => {
          const unread = keys.filter(dials.isUnread);
          const items = keys.flatMap((key) => (unread.includes(key) ? [] : (sync.get(key) ?? [])));
          if (unread.length > 0) throw new KeysUnreadError('bridge', items, unread);
          return items;
        }),
      update: (update) => via(() => sync.update(update)),
      queryWork: (query) => via(() => sync.queryWork(query)),
      queryWorkPage: (query) => via(() => sync.queryWorkPage(query)),
    };
    const environment = readConfig(
      pollerEnvironment,
      { TABLE_NAME: 'bridge', EVENT_BUS_NAME: 'bus' },
      'The environment',
    );
    const handle = createPollerHandler(
      environment,
      {
        clock,
        random: { next: () => 0.5 },
        newId: () => `id ${callCount}`,
        monotonicMs: () => scheduler.now(),
        http: (request) => {
          const account = ids.find((id) => request.url.hostname === `${id}.example`);
          return via(() => services[account ?? ids[0]].send(request));
        },
      },
      () => ({
        table: calls,
        indexes: behind(createMemoryIndexes(table)),
        partitions: behind(createMemoryPartitions(table, 100)),
        bus: {
          publish: (events) =>
            via(() => {
              for (const { detailType, detail } of events)
                accepted.push({
                  atMs: scheduler.now(),
                  type: detailType,
                  text: detail,
                  detail: JSON.parse(detail),
                });
              return events.map(() => ({ kind: 'accepted' as const }));
            }),
        },
        keyOf: () => secret,
        telemetryOf: () => telemetry,
      }),
    );
    const payload = () => ({
      lane: 0,
      lanes: 1,
      shared_lanes: 1,
      accounts: watched.ids.map((id) => ({
        account_id: id,
        upstream_base_url: `https://${id}.example/api/v2`,
        key_secret_id: 'a-key',
        ...watched.settings?.[id],
      })),
    });
    return {
      process,
      handle: (endsAtMs: number) =>
        handle(payload(), { getRemainingTimeInMillis: () => endsAtMs - scheduler.now() }),
    };
  }
}

const WATCHED = 'Account Watched';

/** The projects of these tests were created at this time, which is after the first sight of all accounts. */
export const CREATED_MS = Date.UTC(2026, 0, 15, 12, 3, 0);
