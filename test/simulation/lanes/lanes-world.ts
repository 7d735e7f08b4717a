/**
 * Runs several accounts in several lanes on virtual time. The number of lanes and the pins of accounts change at
 * random while it runs, processes crash, and the table, the bus and the upstream fail. Each account has the faulty
 * world and the checker of the simulation of one account.
 */

import type { AccountDeps, Lease } from '../../../functions/poller/account/account-deps.ts';
import { type AccountMemory, emptyAccountMemory } from '../../../functions/poller/account/account-memory.ts';
import { createLease } from '../../../functions/poller/account/lease.ts';
import { pollAccount } from '../../../functions/poller/account/poll-account.ts';
import {
  ACCOUNTS_LOOK_MS,
  type LaneAccount,
  runLane,
  type SetAsideAccounts,
  settingsOfLane,
} from '../../../functions/poller/lane/run-lane.ts';
import type { ServedAccount } from '../../../shared/accounts/account-directory.ts';
import { type PollAccountSettings, pollAccountRequest } from '../../../shared/config/poller-config.ts';
import { silentTelemetry } from '../../../shared/runtime/telemetry.ts';
import { createBridgeStore } from '../../../shared/store/bridge-store.ts';
import { leaseKey } from '../../../shared/store/keys.ts';
import { createRequestBudget } from '../../../shared/upstream/request-budget.ts';
import { UpstreamError } from '../../../shared/upstream/upstream-error.ts';
import { dependenciesOf } from '../by-hand.ts';
import type { Violation } from '../check-history.ts';
import { START_MS, type Stage } from '../close-stage.ts';
import { createMemoryTable } from '../memory-table.ts';
import { deriveOptions } from '../options.ts';
import { createFaultyTable, createLaggingIndex } from '../ports.ts';
import type { Process } from '../scheduler.ts';
import { checkStage, setTheStage } from '../simulate.ts';
import { createUpstreamModel, NOTHING_ODD } from '../upstream-model.ts';

const ACCOUNT_COUNT = 4;
const LANES_MAX = 3;
const CHAOS_MS = 4 * 60_000;
/** Within this time leases of crashed processes end, pauses end, and several sweeps run. */
const QUIET_MS = 6 * 60_000;
const INVOKE_EVERY_MS = 60_000;
/** An invocation of production polls this long, which is half a second less than the time to the next one. */
const POLLED_MS = 59_500;
/** The number of lanes or a pin changes about this often. */
const CHANGE_EVERY_MS = 9_000;

export interface LanesOptions {
  /** With the mutant, a poller neither acquires the lease nor asks whether it holds. */
  readonly ignoresLease?: boolean;
}

export interface LanesResult {
  readonly violations: readonly Violation[];
  /** The number of lanes or a pin has changed this often while lanes ran. */
  readonly changeCount: number;
  /** Counts the requests by the lane that sent them. */
  readonly requestsByLane: ReadonlyMap<number, number>;
  readonly eventCount: number;
}

/** What a deployment and an administrator decide: the number of lanes, and the lane of each pinned account. */
interface Control {
  laneCount: number;
  readonly pins: Map<string, number>;
}

export async function simulateLanes(
  seed: number,
  { ignoresLease = false }: LanesOptions = {},
): Promise<LanesResult> {
  const derived = deriveOptions(seed);
  // All lanes are in one region, whose machines agree on the time. Clocks that differ are the subject of other worlds.
  const options = { ...derived, chaosMs: CHAOS_MS, faults: { ...derived.faults, clock_skew: 0 } };
  const first = setTheStage(options, NOTHING_ODD);
  const { world } = first;
  const { scheduler, random } = world;
  const stages = new Map(idsOfAccounts().map((id, place) => [id, place === 0 ? first : anotherStage(first)]));
  const control: Control = { laneCount: 1 + Math.floor(random.next() * LANES_MAX), pins: new Map() };
  const requestsByLane = new Map<number, number>();
  const violations: Violation[] = [];
  let changeCount = 0;
  let processCount = 0;

  for (let lane = 0; lane < LANES_MAX; lane++) void schedule(lane);
  void changeAtRandom();
  await scheduler.runUntil(START_MS + CHAOS_MS);
  world.isChaotic = false;
  await scheduler.runUntil(START_MS + CHAOS_MS + QUIET_MS);
  for (const [id, stage] of stages)
    violations.push(...checkStage(stage).map((each) => ({ ...each, detail: `${id}: ${each.detail}` })));
  const eventCount = [...stages.values()].reduce((sum, { delivered }) => sum + delivered.length, 0);
  return { violations, changeCount, requestsByLane, eventCount };

  async function changeAtRandom(): Promise<void> {
    while (world.isChaotic) {
      await scheduler.delay(undefined, random.next() * 2 * CHANGE_EVERY_MS);
      const account = idsOfAccounts()[Math.floor(random.next() * ACCOUNT_COUNT)] ?? '';
      if (random.next() < 0.4) control.laneCount = 1 + Math.floor(random.next() * LANES_MAX);
      else if (random.next() < 0.3) control.pins.delete(account);
      else control.pins.set(account, Math.floor(random.next() * LANES_MAX));
      changeCount += 1;
    }
  }

  /** Invokes a lane once a minute while it exists, in a warm environment until it crashes. */
  async function schedule(lane: number): Promise<void> {
    let environment = newEnvironment(lane);
    // Lanes look at different moments which accounts they have, so for some seconds two may have the same one.
    await scheduler.delay(undefined, random.next() * ACCOUNTS_LOOK_MS);
    for (;;) {
      if (environment.owner.isCrashed) environment = newEnvironment(lane);
      if (lane < control.laneCount) void invoke(environment);
      await scheduler.delay(undefined, INVOKE_EVERY_MS);
    }
  }

  function newEnvironment(lane: number) {
    const owner: Process = { name: `lane-${lane}-${processCount++}`, isCrashed: false, clockSkewMs: 0 };
    const setAside: SetAsideAccounts = new Map();
    return { lane, owner, setAside, warm: new Map<string, Warm>() };
  }

  async function invoke({ lane, owner, setAside, warm }: ReturnType<typeof newEnvironment>): Promise<void> {
    const clock = scheduler.clockOf(owner);
    const stop = new AbortController();
    const endsAtMs = clock.now() + POLLED_MS;
    clock.sleep(POLLED_MS).then(
      () => stop.abort(ENDED),
      () => {},
    );
    // The schedule of the lane keeps its number of lanes for the whole invocation, while pins are read again.
    const lanes = { lane, lanes: control.laneCount, shared_lanes: control.laneCount };
    const accounts = async () =>
      settingsOfLane(lanes, served()).map(({ account_id }) => laneAccount(account_id, owner, warm, lane));
    const deps = { accounts, nudges: { read: async () => [] }, clock, telemetry: silentTelemetry };
    await runLane(deps, setAside, { signal: stop.signal, leaseMs: () => endsAtMs - clock.now() }).catch(
      () => {},
    );
  }

  function served(): readonly ServedAccount<PollAccountSettings>[] {
    return idsOfAccounts().map((account_id) => ({
      settings: settingsOf(account_id),
      state: 'active',
      generation: 1,
      origin: 'added',
      lane: control.pins.get(account_id),
    }));
  }

  function laneAccount(
    accountId: string,
    owner: Process,
    warm: Map<string, Warm>,
    lane: number,
  ): LaneAccount {
    const stage = stages.get(accountId);
    if (stage === undefined) throw new Error(`There is no account ${accountId}`);
    const account = warm.get(accountId) ?? { deps: depsOf(stage, owner, lane), memory: emptyAccountMemory() };
    warm.set(accountId, account);
    return {
      accountId,
      identity: 'the same settings',
      nudge: () => {},
      poll: (invocation) => pollAccount(account.deps, account.memory, invocation),
    };
  }

  function depsOf(stage: Stage, owner: Process, lane: number): AccountDeps {
    const deps = dependenciesOf(stage, owner);
    const { clock } = deps;
    const budget = createRequestBudget({ clock, requestsPerMinute: 10_000, burst: 20 });
    const store = createBridgeStore(
      createFaultyTable(world, { table: stage.table, index: stage.index, owner }),
      ACCOUNT_ID,
      clock,
    );
    let leaseCount = 0;
    const newId = () => `${owner.name} ${leaseCount++}`;
    const monotonicMs = () => scheduler.now();
    const lease = ignoresLease ? NO_LEASE : createLease({ store, clock, budget, newId, monotonicMs });
    const { listProjects, listOperations, getOperation } = deps.upstream;
    const mayHold = <Args extends readonly unknown[], T>(call: (...args: Args) => Promise<T>) => {
      return (...args: Args): Promise<T> => {
        if (!lease.holds()) return Promise.reject(CANCELLED);
        requestsByLane.set(lane, (requestsByLane.get(lane) ?? 0) + 1);
        violations.push(...faultsOfSending(stage, owner));
        return call(...args);
      };
    };
    const upstream = {
      ...deps.upstream,
      listProjects: mayHold(listProjects),
      listOperations: mayHold(listOperations),
      getOperation: mayHold(getOperation),
    };
    return { ...deps, upstream, budget, store, lease };
  }

  function faultsOfSending(stage: Stage, owner: Process): readonly Violation[] {
    const found = [holderBeside(stage, owner), turnsWith(stage, owner)];
    return found.flatMap((detail) =>
      detail === undefined
        ? []
        : [{ rule: 'one sender', operation_id: '', detail: `${owner.name} ${detail}` }],
    );
  }

  /** Only the holder of the lease may send. A lease that has ended forbids nothing. */
  function holderBeside({ table }: Stage, owner: Process): string | undefined {
    const lease = table.sync.peek(leaseKey(ACCOUNT_ID));
    const holder = (typeof lease?.['holder'] === 'string' ? lease['holder'] : '').split(' ')[0];
    const isHeld = Number(lease?.['expires_at_ms'] ?? 0) > scheduler.now();
    return isHeld && holder !== owner.name ? `sends while ${holder} holds the lease` : undefined;
  }

  /** Two processes that take turns within a second are at work at once. */
  function turnsWith({ table }: Stage, { name }: Process): string | undefined {
    const nowMs = scheduler.now();
    const [before, last] = senders.get(table) ?? [];
    if (last?.name === name) {
      last.atMs = nowMs;
      return undefined;
    }
    senders.set(table, [last, { name, atMs: nowMs }]);
    const isTurn = before?.name === name && nowMs - before.atMs < 1_000;
    return isTurn ? `takes turns with ${last?.name}` : undefined;
  }

  function anotherStage({ world: shared }: Stage): Stage {
    const endMs = START_MS + CHAOS_MS;
    const model = { ...options, startMs: START_MS, endMs, chance: NOTHING_ODD };
    return {
      world: shared,
      model: createUpstreamModel(model, random),
      table: createMemoryTable().as('poller'),
      index: createLaggingIndex(shared),
      delivered: [],
    };
  }
}

interface Warm {
  readonly deps: AccountDeps;
  readonly memory: AccountMemory;
}

/** Each account has a table of its own here, and the same id in it. */
const ACCOUNT_ID = 'main';

const NO_LEASE: Lease = { acquire: async () => true, holds: () => true, release: async () => {} };

interface Sender {
  readonly name: string;
  atMs: number;
}

/** The last two processes that sent for the account of a table, each with the time of its last request. */
const senders = new WeakMap<object, readonly [Sender | undefined, Sender]>();

/** A reason of one's own would record its stack each time. */
const ENDED = new Error('The invocation has ended');

const CANCELLED = new UpstreamError({
  kind: 'cancelled',
  method: 'GET',
  path: '/simulated',
  message: 'the lease has ended',
});

function idsOfAccounts(): readonly string[] {
  return Array.from({ length: ACCOUNT_COUNT }, (_, place) => `account-${place}`);
}

function settingsOf(account_id: string): PollAccountSettings {
  return pollAccountRequest.parse({
    account_id,
    upstream_base_url: 'https://api.example.com/api/v2',
    key_secret_id: 'a-secret',
  });
}
