/**
 * Runs the poller of one account at its door: rows and answers of the upstream go in, events come out. Everything
 * between them is the product, from `createAccount` on. Time is virtual, and every call of a port takes some of it.
 */

import { type Account, createAccount } from '../../../functions/poller/create-account.ts';
import { type PollAccountRequest, pollAccountRequest } from '../../../shared/config/poller-config.ts';
import type { EventBus } from '../../../shared/events/event-bus.ts';
import type { BusEvent } from '../../../shared/events/render-event.ts';
import type { EntryOutcome } from '../../../shared/records/journal.ts';
import { seededRandom } from '../../../shared/runtime/random.ts';
import { createSecret } from '../../../shared/runtime/secret.ts';
import { INDEXES, type Key, type Table, type Update } from '../../../shared/store/table.ts';
import { createApiUnderTest } from '../../api/api-under-test.ts';
import { createMemoryTable, itemBytes, type MemoryTable } from '../../simulation/memory-table.ts';
import { createScheduler, type Process } from '../../simulation/scheduler.ts';
import { createMemoryIndexes } from '../../store/memory-indexes.ts';
import { createMemoryPartitions } from '../../store/memory-partitions.ts';
import { brokenPromises, distinct, type Published } from './promises.ts';
import { createService, type Service } from './service.ts';

const START_MS = Date.UTC(2026, 0, 15, 12, 0, 0);
export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Lambda may let an invocation run a little longer than the minute until the next one begins. */
const RESERVE_MS = 6_000;
const ITEM_BYTES_MAX = 400 * 1_024;
/** A call of another port than the upstream takes this long each way. */
const ONE_WAY_MS = { table: 4, secret: 10 } as const;

type Port = 'upstream' | 'bus' | keyof typeof ONE_WAY_MS;

interface Answered {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: scripts look into answers freely
  readonly body: any;
}

interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A script turns these while time goes on. Each answer stands in place of what the port would do. */
interface BridgeDials {
  /** Returns the outcome of each event of one call, or undefined when all of them are accepted. */
  bus: (events: readonly BusEvent[]) => readonly EntryOutcome[] | undefined;
  /** Returns the error of a call of the table. `lost` applies the write all the same. */
  table: (
    call: string,
    key: Key | undefined,
  ) => { readonly error: Error; readonly lost?: boolean } | undefined;
  /** The secret holds this key of the upstream, or cannot be read. */
  secret: () => string | Error;
  /** The clock of the processes differs by this much from the true time. Each process takes it when it begins. */
  clockOffsetMs: number;
  /** A request to the upstream takes this long each way. */
  upstreamOneWayMs: number;
  /** A call of the bus takes this long each way. */
  busOneWayMs: number;
}

/** Says what a call of a port changes. A call that only reads leaves nothing behind, whenever its process dies. */
export type CallKind = string;
export const READ: CallKind = 'read';

export interface Kill {
  /** The process dies at this call of a port, counted from 1 and from now on. */
  readonly call: number;
  readonly when: 'before' | 'after';
}

/** Creates the poller of one account. There is more than one version of it (`versions.ts`). */
export type Poller = typeof createAccount;

export interface BridgeOptions {
  readonly settings?: Partial<PollAccountRequest>;
  readonly seed?: number;
  /** The first process runs this poller. */
  readonly poller?: Poller;
}

export interface Bridge {
  readonly service: Service;
  readonly dials: BridgeDials;
  readonly table: MemoryTable;
  readonly logs: readonly LogLine[];
  /** Lists what invocations failed with. Lambda invokes the function again in the next minute. */
  readonly failures: readonly unknown[];
  /** Counts what the poller measured, by the name of the metric. */
  readonly measured: ReadonlyMap<string, readonly number[]>;
  readonly nowMs: () => number;
  /** Lists the calls of ports so far, each by its kind. */
  readonly calls: () => readonly CallKind[];
  /** Runs one invocation a minute until this much time has passed. A process that was killed begins anew. */
  readonly run: (durationMs: number) => Promise<void>;
  /** Lets time pass in which nothing polls. */
  readonly rest: (durationMs: number) => Promise<void>;
  /** Does something when the time has come, while the bridge runs. */
  readonly at: (afterMs: number, act: () => void) => void;
  /** Kills the process once, when it comes to this call. */
  readonly killAt: (kill: Kill) => void;
  /** Each process that begins from now on runs this poller. */
  readonly deploy: (poller: Poller) => void;
  /** The process ends, and the next invocation begins with nothing but the table, and with this poller. */
  readonly restart: (poller?: Poller) => void;
  /** Another process is invoked beside the one that runs, once, for this time. */
  readonly invokeAnother: (durationMs: number) => void;
  /**
   * The process stands still, and the next invocation begins another one. The returned function lets it go on. One of its clocks may have
   * stood still with it: the monotonic one, or the clock of the machine but for ten seconds.
   */
  readonly freeze: (stopped?: 'monotonic' | 'machine') => () => void;
  /** Processes that were frozen have sent so many requests since they were thawed. */
  readonly sentAfterThaw: () => number;
  /** Rings the bell of the account, as a nudge of another process does. */
  readonly nudge: () => void;
  /** Sends a request to the API, which works on the same table and bus. No time passes until it is answered. */
  readonly ask: (method: string, path: string, body?: object) => Promise<Answered>;
  /** Lists all events, copies included, in the order in which the bus has accepted them. */
  readonly copies: () => readonly Published[];
  /** Lists each event once, `Account Watched` left out. */
  readonly events: (type?: string) => readonly Published[];
  /** Returns a sentence for each promise of the README that the events of operations break. */
  readonly brokenPromises: (options?: { readonly exceptFor?: readonly string[] }) => readonly string[];
}

interface Running {
  readonly process: Process;
  readonly account: Account;
}

export function aBridge({ settings = {}, seed = 1, poller = createAccount }: BridgeOptions = {}): Bridge {
  const scheduler = createScheduler(START_MS);
  const random = seededRandom(seed);
  const service = createService(() => scheduler.now());
  const table = createMemoryTable();
  const logs: LogLine[] = [];
  const measured = new Map<string, number[]>();
  const accepted: Published[] = [];
  const dials: BridgeDials = {
    bus: () => undefined,
    table: () => undefined,
    secret: () => 'the-key-of-the-upstream',
    clockOffsetMs: 0,
    upstreamOneWayMs: 60,
    busOneWayMs: 10,
  };
  const polled = pollAccountRequest.parse({
    account_id: 'main',
    upstream_base_url: 'https://service.example/api/v2',
    key_secret_id: 'upstream-key',
    ...settings,
  });
  const calls: CallKind[] = [];
  let kill: Kill | undefined;
  let processCount = 0;
  const failures: unknown[] = [];
  const thawed = new Set<Process>();
  let sentAfterThaw = 0;
  let version = poller;
  let running = begin();
  let askApi: Bridge['ask'] | undefined;

  return {
    service,
    dials,
    table,
    logs,
    failures,
    measured,
    nowMs: () => scheduler.now(),
    calls: () => calls,
    async run(durationMs) {
      const endsAtMs = scheduler.now() + durationMs;
      while (scheduler.now() < endsAtMs) {
        if (running.process.isCrashed || running.process.isFrozen === true) running = begin();
        const lastsMs = Math.min(MINUTE_MS, endsAtMs - scheduler.now());
        // DynamoDB deletes what has expired.
        table.sync.expire(scheduler.now());
        invoke(running, lastsMs, lastsMs - Math.min(RESERVE_MS, lastsMs / 10));
        await scheduler.runUntil(scheduler.now() + lastsMs);
      }
    },
    rest: (durationMs) => scheduler.runUntil(scheduler.now() + durationMs),
    at: (afterMs, act) => void scheduler.delay(undefined, afterMs).then(act),
    killAt: ({ call, when }) => {
      kill = { call: calls.length + call, when };
    },
    deploy: (next) => {
      version = next;
    },
    restart: (next = version) => {
      version = next;
      running.process.isCrashed = true;
    },
    invokeAnother: (durationMs) => invoke(begin(), durationMs, durationMs),
    freeze(stopped) {
      const { process } = running;
      const fromMs = scheduler.now();
      process.isFrozen = true;
      return () => {
        const frozenMs = scheduler.now() - fromMs;
        if (stopped === 'monotonic') process.stoodStillMs = frozenMs;
        if (stopped === 'machine') process.clockSkewMs -= frozenMs - 10 * SECOND_MS;
        thawed.add(process);
        scheduler.thaw(process);
      };
    },
    sentAfterThaw: () => sentAfterThaw,
    nudge: () => running.account.bell.ring(),
    ask(...request) {
      askApi ??= openApi();
      return askApi(...request);
    },
    copies: () => accepted,
    events: (type) =>
      distinct(accepted).filter((event) => (type ?? event.type) === event.type && event.type !== WATCHED),
    brokenPromises: ({ exceptFor = [] } = {}) =>
      brokenPromises(
        accepted.filter(({ detail }) => !exceptFor.includes(detail.operation_id ?? '')),
        service.rows().filter(({ id }) => !exceptFor.includes(id)),
      ),
  };

  /** A timer of the process ends its invocation, so that of a frozen one rings late, as all its timers do. */
  function invoke({ process, account: { poll } }: Running, leaseMs: number, endsAfterMs: number): void {
    const stop = new AbortController();
    poll({ signal: stop.signal, leaseMs }).catch((error: unknown) => void failures.push(error));
    void scheduler
      .delay(process, endsAfterMs)
      .then(() => stop.abort(new Error('The invocation is near its deadline')));
  }

  function begin(): Running {
    processCount += 1;
    const name = `process ${processCount}`;
    const process: Process = { name, isCrashed: false, clockSkewMs: dials.clockOffsetMs };
    const clock = scheduler.clockOf(process);
    const via = callsOf(process);
    const adapters = {
      table: tableOf(via),
      indexes: behind(via, createMemoryIndexes(table)),
      partitions: behind(via, createMemoryPartitions(table, 100)),
      bus: busOf(via),
      http: (request: Parameters<Service['send']>[0]) => {
        if (thawed.has(process)) sentAfterThaw += 1;
        const answer = via('upstream', READ, () => service.send(request));
        return inTime(request, answer);
      },
      keyOf: () => ({ current: readSecret, refresh: readSecret }),
      telemetryOf: telemetryFor,
      watchedAccountIds: () => [polled.account_id],
    };
    const readSecret = () => via('secret', READ, currentKey);
    const ports = {
      clock,
      random,
      newId: () => `${name}, id ${random.next()}`,
      monotonicMs: () => scheduler.now() - (process.stoodStillMs ?? 0),
    };
    return { process, account: version(polled, adapters, ports) };

    function inTime<T>(
      { signal, timeoutMs }: { signal: AbortSignal | undefined; timeoutMs: number },
      answer: Promise<T>,
    ) {
      return new Promise<T>((resolve, reject) => {
        clock
          .sleep(timeoutMs, signal)
          .then(() => reject(new DOMException('Time is over', 'TimeoutError')), reject);
        answer.then(resolve, reject);
      });
    }
  }

  /** Every call of a port takes time, and is where a process can die. */
  function callsOf(process: Process) {
    return async <T>(port: Port, kind: CallKind, effect: () => T | Promise<T>): Promise<T> => {
      if (process.isCrashed) return never();
      calls.push(kind);
      const isLast = kill?.call === calls.length;
      const { upstreamOneWayMs: upstream, busOneWayMs: bus } = dials;
      const oneWayMs = { ...ONE_WAY_MS, upstream, bus }[port];
      if (isLast && kill?.when === 'before') return die(process);
      await scheduler.delay(process, oneWayMs);
      const result = await effect();
      if (isLast) return die(process);
      await scheduler.delay(process, oneWayMs);
      return result;
    };
  }

  function tableOf(via: ReturnType<typeof callsOf>): Table {
    const call = <T>(name: string, key: Key | undefined, effect: () => T, kind = READ): Promise<T> =>
      via('table', kind, () => {
        const fault = dials.table(name, key);
        if (fault !== undefined && fault.lost !== true) throw fault.error;
        const result = effect();
        if (fault !== undefined) throw fault.error;
        return result;
      });
    const sync = table.as('poller').sync;
    return {
      get: (key) => call('get', key, () => sync.get(key)),
      getMany: (keys) =>
        call('getMany', keys[0], () => {
          refuseEqualKeys(keys);
          return keys.flatMap((key) => sync.get(key) ?? []);
        }),
      update: (update) => {
        const write = () => {
          refuseEmptyKeys(update);
          const result = sync.update(update);
          refuseLargeItem(sync, update.key);
          return result;
        };
        return call('update', update.key, write, kindOf(update));
      },
      queryWork: (query) => call('queryWork', undefined, () => sync.queryWork(query)),
      queryWorkPage: (query) => call('queryWorkPage', undefined, () => sync.queryWorkPage(query)),
    };
  }

  function busOf(via: ReturnType<typeof callsOf>): EventBus {
    return {
      publish: (events) =>
        via('bus', 'publish', () => {
          const outcomes = dials.bus(events) ?? events.map(() => ({ kind: 'accepted' as const }));
          for (const [place, { detailType, detail }] of events.entries())
            if (outcomes[place]?.kind === 'accepted')
              accepted.push({
                atMs: scheduler.now(),
                type: detailType,
                text: detail,
                detail: JSON.parse(detail),
              });
          return outcomes;
        }),
    };
  }

  /** Serves the API from a process of its own, for which no time passes. */
  function openApi(): Bridge['ask'] {
    const api = createApiUnderTest({
      upstreamBaseUrl: polled.upstream_base_url,
      upstreamKey: 'the-key-of-the-upstream',
      clock: { now: () => scheduler.now(), sleep: () => new Promise((resolve) => setImmediate(resolve)) },
      memory: table,
      wrapBus: () => busOf(async (_port, _kind, effect) => effect()),
      fetch: fetchFrom(service),
    });
    return async (method, path, body) => {
      const authorization = `Bearer ${await api.issueToken({ validForMs: DAY_MS })}`;
      const typed = body && { 'content-type': 'application/json' };
      const headers = { authorization, ...typed };
      const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
      const answer = await api.app.request(path, init);
      return { status: answer.status, body: await answer.json() };
    };
  }

  function currentKey() {
    const key = dials.secret();
    if (key instanceof Error) throw key;
    return createSecret(key);
  }

  function telemetryFor() {
    return {
      log: (level: string, event: string, fields: object = {}) => void logs.push({ level, event, ...fields }),
      measure: (name: string, value: number) =>
        void measured.set(name, [...(measured.get(name) ?? []), value]),
      flush: () => {},
    };
  }
}

const WATCHED = 'Account Watched';

/** Sends what the API sends to the upstream to the same service as the poller. */
function fetchFrom(service: Service): typeof fetch {
  return async (input, init) => {
    const { url, method } = new Request(input, init);
    const request = { method, url: new URL(url), headers: {}, body: undefined, signal: undefined };
    const { status, body } = await service.send({ ...request, timeoutMs: MINUTE_MS });
    return new Response(await textOf(body), {
      status,
      headers: { 'content-type': 'application/json' },
    });
  };
}

/** Every invocation writes these items, whatever happens upstream. */
const HOUSEKEEPING: readonly string[] = ['LEASE', 'STATUS', 'COMMANDS'];

/** Of one kind are the writes of one kind of item. Those that record an event are of another kind than the others. */
function kindOf({ key, set }: Update): CallKind {
  const item = key.sk.split('#')[0] ?? '';
  if (HOUSEKEEPING.includes(item)) return 'housekeeping';
  return set['entries'] === undefined ? `write ${item}` : `write ${item} with events`;
}

async function textOf(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}

function die<T>(process: Process): Promise<T> {
  process.isCrashed = true;
  return never();
}

/** Puts every call of an object's methods through the ports of the table. */
function behind<P extends object>(
  via: (port: Port, kind: CallKind, effect: () => unknown) => Promise<unknown>,
  port: P,
): P {
  return Object.fromEntries(
    Object.entries(port).map(([name, method]) => [
      name,
      (...args: unknown[]) => via('table', READ, () => (method as (...args: unknown[]) => unknown)(...args)),
    ]),
  ) as P;
}

/** DynamoDB refuses these with a `ValidationException` (Amazon DynamoDB API Reference, BatchGetItem and UpdateItem). */
function refused(message: string): Error {
  return Object.assign(new Error(message), { name: 'ValidationException' });
}

function refuseEqualKeys(keys: readonly Key[]): void {
  const ids = new Set(keys.map(({ pk, sk }) => `${pk}\n${sk}`));
  if (ids.size < keys.length) throw refused('Provided list of item keys contains duplicates');
}

/** A key, and the key of an index, is a text that is not empty. */
function refuseEmptyKeys({ key, set }: Update): void {
  const ofIndexes = INDEXES.flatMap(({ partitionKey, sortKey }) => [set[partitionKey], set[sortKey]]);
  if ([key.pk, key.sk, ...ofIndexes].includes(''))
    throw refused('The AttributeValue for a key attribute is empty');
}

function refuseLargeItem(sync: MemoryTable['sync'], key: Key): void {
  const item = sync.peek(key);
  if (item !== undefined && itemBytes(item) > ITEM_BYTES_MAX)
    throw refused('Item size has exceeded the maximum');
}
