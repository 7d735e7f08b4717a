/** Runs one seed: the production poller in a hostile world, then a quiet phase, then the checker. */

import { renderEvent } from '../../shared/events/render-event.ts';
import type { JournalEntry } from '../../shared/records/journal-entries.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { parseRecord } from '../../shared/store/parse-record.ts';
import type { Rejection } from '../model/accept.ts';
import { followRun, type StepTrace } from './accepted.ts';
import { checkDerived, type OwedOperation } from './check-derived.ts';
import {
  checkHistory,
  type DeliveredEvent,
  type Expectation,
  type TrueHistory,
  type Violation,
} from './check-history.ts';
import { type Account, createClosePoller } from './close-poller.ts';
import { ACCOUNT_ID, DAY_MS, START_MS, type Stage } from './close-stage.ts';
import { createMemoryTable, type WriteUnits } from './memory-table.ts';
import { deriveOptions, type FaultKind, type SimulationOptions } from './options.ts';
import { createLaggingIndex } from './ports.ts';
import type { Process } from './scheduler.ts';
import { createUpstreamModel, type TruthOperation, type UpstreamModelOptions } from './upstream-model.ts';
import { createWorld, type World } from './world.ts';

export interface SimulationResult {
  readonly options: SimulationOptions;
  readonly violations: readonly Violation[];
  /** The protocol's model does not allow these steps. */
  readonly rejections: readonly Rejection[];
  readonly fired: ReadonlyMap<FaultKind, number>;
  readonly delivered: readonly DeliveredEvent[];
  readonly spent: WriteUnits;
}

/**
 * Within this time a vanished operation is confirmed, a failed one is read again, and several sweeps run. Before that, a process whose
 * clock was a day ahead may have left a pause, which is honoured for up to five minutes.
 */
const QUIET_MS = 300_000 + 240_000;

export async function simulate(
  seed: number,
  change: (options: SimulationOptions) => SimulationOptions = (options) => options,
  trace?: StepTrace,
): Promise<SimulationResult> {
  const options = change(deriveOptions(seed));
  const stage = setTheStage(options, chancesOf(options));
  const { world } = stage;
  const endMs = START_MS + options.chaosMs;
  const violations: Violation[] = [];
  watchWrites(stage, violations);
  const { scheduler } = world;
  const { listener, rejections } = followRun({ ...options, scheduler, accountId: ACCOUNT_ID, trace });
  world.listener = listener;

  for (let index = 0; index < options.pollerCount; index++) void livePoller(stage, `poller-${index}`);
  await world.scheduler.runUntil(endMs);
  world.isChaotic = false;
  void runPeacefully(stage, endMs + QUIET_MS);
  await world.scheduler.runUntil(endMs + QUIET_MS + 60_000);

  countWorldFaults(stage);
  violations.push(...checkStage(stage));
  return {
    options,
    violations,
    rejections,
    fired: world.fired,
    delivered: stage.delivered,
    spent: stage.table.spent,
  };
}

/** Checks one account after its world has come to rest. */
export function checkStage(stage: Stage): readonly Violation[] {
  const published = everythingPublished(stage);
  return [
    ...checkBacklog(stage),
    ...checkMemory(stage),
    ...checkHistory(truthOf(stage), published),
    ...checkDerived(owedBy(stage), published),
  ];
}

export function setTheStage(options: SimulationOptions, chance: UpstreamModelOptions['chance']): Stage {
  const world = createWorld(options, START_MS);
  const endMs = START_MS + options.chaosMs;
  return {
    world,
    model: createUpstreamModel(
      { ...options, startMs: START_MS, endMs, chance, shiftMs: () => shiftMs(world) },
      world.random,
    ),
    table: createMemoryTable().as('poller'),
    index: createLaggingIndex(world),
    delivered: [],
  };
}

/** A row is ahead by up to 40 days, or behind by up to three hours. Each order of size is as likely as the others. */
function shiftMs(world: World): number {
  const spread = (fromMs: number, toMs: number) =>
    Math.round(fromMs * (toMs / fromMs) ** world.foreign.next());
  if (world.strikes('row_future')) return spread(30_000, 40 * DAY_MS);
  return world.strikes('row_past') ? -spread(60_000, 3 * 3_600_000) : 0;
}

/** Runs a poller as the cloud does: invocations one after the other in a warm environment, until it crashes. */
async function livePoller(stage: Stage, name: string): Promise<void> {
  const { world } = stage;
  const { options, scheduler, random } = world;
  while (world.isChaotic) {
    const isSkewed = world.strikes('clock_skew');
    const clockSkewMs = isSkewed ? Math.floor((random.next() * 2 - 1) * DAY_MS) : 0;
    const owner: Process = { name, isCrashed: false, clockSkewMs };
    void invokeRepeatedly(stage, owner);
    while (!owner.isCrashed && world.isChaotic) await scheduler.delay(undefined, 1_000);
    await scheduler.delay(undefined, random.next() * options.pollIntervalMs * 2);
  }
}

async function invokeRepeatedly(stage: Stage, owner: Process): Promise<void> {
  const { world } = stage;
  const poller = createClosePoller(stage, owner);
  const clock = world.scheduler.clockOf(owner);
  while (world.isChaotic && !owner.isCrashed) {
    await invoke(poller, clock, world.options.invocationMs);
    await world.scheduler.delay(owner, world.random.next() * 2_000);
  }
}

async function runPeacefully(stage: Stage, untilMs: number): Promise<void> {
  const owner: Process = { name: 'peace', isCrashed: false, clockSkewMs: 0 };
  const poller = createClosePoller(stage, owner);
  const clock = stage.world.scheduler.clockOf(owner);
  while (stage.world.scheduler.now() < untilMs) await invoke(poller, clock, 60_000);
}

/** Runs one invocation. A failed one is only an error in a log, because the schedule starts the next one. */
async function invoke(poller: Account, clock: Clock, durationMs: number): Promise<void> {
  const stop = new AbortController();
  clock.sleep(durationMs).then(
    () => stop.abort(new Error('deadline')),
    () => {},
  );
  try {
    await poller.poll({ signal: stop.signal, leaseMs: durationMs });
  } catch {
    await clock.sleep(1_000);
  }
}

function chancesOf({ faults }: SimulationOptions) {
  return {
    tie: faults.row_tie,
    lateVisible: faults.row_late,
    fails: 0.2,
    reopens: faults.operation_reopened,
    vanishes: faults.operation_vanished,
    brokenUpdatedAt: faults.updated_at_broken,
    unknownStatus: 0.05,
    burst: 0.25,
    isLagging: faults.list_lags + faults.read_lags > 0,
  };
}

/** Counts faults that are drawn with the operations and not with the calls. */
function countWorldFaults({ world, model }: Stage): void {
  model.operations.forEach((op, place) => {
    const createdMs = op.createdUs / 1_000;
    if (op.visibleAtMs > createdMs) world.fire('row_late');
    if (op.createdUs === model.operations[place - 1]?.createdUs) world.fire('row_tie');
    if (Number.isFinite(op.vanishesAtMs)) world.fire('operation_vanished');
    if (op.states.some((state) => state.updatedAtMs < state.atMs)) world.fire('updated_at_broken');
    const endedEarly = op.states.slice(0, -1).some((state) => TERMINAL.has(state.status));
    if (endedEarly) world.fire('operation_reopened');
  });
}

/** Checks the rule that a watermark only moves forwards, and notes when the account was first kept. */
function watchWrites({ table, world }: Stage, violations: Violation[]): void {
  const update = table.sync.update.bind(table.sync);
  table.sync.update = (change) => {
    const before = table.sync.peek(change.key)?.['watermark'];
    const result = update(change);
    if (change.set['kind'] === 'account') world.accountKeptMs ??= world.scheduler.now();
    const after = table.sync.peek(change.key)?.['watermark'];
    if (typeof before === 'string' && typeof after === 'string' && after < before) {
      violations.push({ rule: 'watermark', operation_id: '', detail: `${before} -> ${after}` });
    }
    return result;
  };
}

/** Checks liveness: when the faults have ended, every recorded event has been published or parked. */
function checkBacklog({ table }: Stage): readonly Violation[] {
  return table.sync
    .items()
    .filter((item) => 'entries' in item && Number(item['published'] ?? 0) < Number(item['revision'] ?? 0))
    .map((item) => ({
      rule: 'backlog',
      operation_id: item.sk,
      detail: item.pk,
    }));
}

/**
 * Checks that the events in the table equal the published ones byte by byte, because a feed can be read from there.
 */
function checkMemory(stage: Stage): readonly Violation[] {
  const published = new Set(everythingPublished(stage).map(({ detail }) => detail));
  return stage.table.sync
    .items()
    .filter((item) => 'entries' in item)
    .flatMap((item) => {
      const { record } = parseRecord(item);
      if (record === undefined) return [{ rule: 'unreadable', operation_id: item.sk, detail: '' }];
      return (record.entries as readonly JournalEntry[])
        .map((entry) => renderEvent(record, entry).detail)
        .filter((detail) => !published.has(detail))
        .map((detail) => ({ rule: 'memory', operation_id: item.sk, detail }));
    });
}

/** Parked events count as published: they wait for a person and block no other event. */
function everythingPublished({ table, delivered }: Stage): readonly DeliveredEvent[] {
  const parked = table.sync
    .items()
    .filter((item) => item['kind'] === 'parked')
    .map((item) => JSON.parse(item['event'] as string) as DeliveredEvent);
  return [...delivered, ...parked];
}

const TERMINAL = new Set(['finished', 'skipped', 'cancelled', 'error']);

/**
 * Returns when the account was first seen, in whole seconds. What the bridge keeps may be earlier, because a clock was behind, and loses
 * nothing by it. It may not be later than the time at which it was kept.
 */
function bootMsOf({ table, world }: Stage): number {
  const bootAt = table.sync.items().find((item) => item['kind'] === 'account')?.['boot_at'];
  const keptMs = typeof bootAt === 'string' ? Date.parse(`${bootAt.slice(0, 19)}Z`) : START_MS;
  return Math.min(keptMs, Math.floor((world.accountKeptMs ?? keptMs) / 1_000) * 1_000);
}

function owedBy(stage: Stage): readonly OwedOperation[] {
  const bootMs = bootMsOf(stage);
  const histories = new Map(truthOf(stage).map((history) => [history.operation_id, history]));
  return stage.model.operations.map((operation) => ({
    operation,
    expects: histories.get(operation.id)?.expects ?? 'whatever_was_seen',
    isHistory: operation.createdUs / 1_000 < bootMs,
    isHidden: operation.visibleAtMs > operation.createdUs / 1_000 || Number.isFinite(operation.vanishesAtMs),
  }));
}

function truthOf(stage: Stage): readonly TrueHistory[] {
  const bootMs = bootMsOf(stage);
  const { operations } = stage.model;
  return operations.map((op) => {
    const isTied = operations.some((other) => other !== op && other.createdUs === op.createdUs);
    const expects = expectationOf(op, { bootMs, backfill: stage.world.options.backfill });
    // An operation that the first walk could not see may be published when it appears.
    // A replica that lags may have shown it as it was before its end.
    const wasHidden = isTied || op.visibleAtMs > bootMs || isLagging(stage);
    const owed = expects === 'nothing' && wasHidden ? 'final_state_if_told' : expects;
    return { operation_id: op.id, states: op.states, expects: owed };
  });
}

function isLagging({ world: { fired } }: Stage): boolean {
  return fired.has('list_lags') || fired.has('read_lags');
}

function expectationOf(
  op: TruthOperation,
  { bootMs, backfill }: { bootMs: number; backfill: SimulationOptions['backfill'] },
): Expectation {
  if (Number.isFinite(op.vanishesAtMs)) return 'whatever_was_seen';
  const isHistory = Math.floor(op.createdUs / 1_000_000) * 1_000 < bootMs;
  if (!isHistory || backfill === 'all') return 'final_state';
  // What ends anew under an `updated_at` that has not moved is history to a process that has not seen it open (PROTOCOL.md, "What can be lost").
  const endCount = op.states.filter(({ status }) => TERMINAL.has(status)).length;
  if (endCount > 1 && (op.states.at(-1)?.updatedAtMs ?? bootMs) < bootMs) return 'whatever_was_seen';
  const movedAfterBoot = op.states.some((state) => state.atMs >= bootMs);
  const wasOver = TERMINAL.has(op.states.findLast((state) => state.atMs < bootMs)?.status ?? '');
  if (wasOver && !movedAfterBoot) return 'nothing';
  const isOpenAtEnd = !TERMINAL.has(op.states.at(-1)?.status ?? '');
  return backfill === 'open' && isOpenAtEnd ? 'final_state' : 'final_state_if_told';
}
