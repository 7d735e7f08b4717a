/** Keeps virtual time: one heap of wake-ups decides the order of everything, so a seed replays exactly. */

import type { Clock } from '../../shared/runtime/clock.ts';

/** A process can crash. After a crash it never wakes again, like a process that was killed. */
export interface Process {
  readonly name: string;
  isCrashed: boolean;
  /** This is the difference of its clock from the true time. */
  clockSkewMs: number;
  /** Its monotonic clock has stood still for this long in all. */
  stoodStillMs?: number;
  /** A frozen process keeps its timers; all that were due meanwhile fire when it is thawed. */
  isFrozen?: boolean;
  /** Names the fault that crashes it in the wide world. */
  readonly crashKind?: 'lambda_crashed' | 'command_sender_crashed' | 'never';
}

interface WakeUp {
  readonly atMs: number;
  readonly order: number;
  readonly owner: Process | undefined;
  readonly wake: () => void;
}

export interface Scheduler {
  now(): number;
  /** Resolves at a virtual instant, or never when the owner has crashed by then. */
  delay(owner: Process | undefined, durationMs: number): Promise<void>;
  clockOf(owner: Process): Clock;
  /** Lets a frozen process continue: wake-ups that were due meanwhile happen now, in the same order. */
  thaw(owner: Process): void;
  /** The scheduler runs until this instant. */
  runUntil(atMs: number): Promise<void>;
}

export function createScheduler(startMs: number): Scheduler {
  let nowMs = startMs;
  let order = 0;
  const heap: WakeUp[] = [];
  const parked = new Map<Process, WakeUp[]>();
  const stepWhenSettled = settledSteps();

  const park = (wakeUp: WakeUp & { readonly owner: Process }): void => {
    const waiting = parked.get(wakeUp.owner) ?? [];
    parked.set(wakeUp.owner, waiting);
    waiting.push(wakeUp);
  };

  const schedule = (owner: Process | undefined, durationMs: number, wake: () => void): void => {
    push(heap, { atMs: nowMs + Math.max(0, durationMs), order: order++, owner, wake });
  };

  /** Takes the first wake-up that is due by then from the heap. Those of crashed and frozen processes do not wake anything. */
  const nextDue = (atMs: number): WakeUp | undefined => {
    for (let first = heap[0]; first !== undefined && first.atMs <= atMs; first = heap[0]) {
      pop(heap);
      nowMs = Math.max(nowMs, first.atMs);
      const { owner } = first;
      if (owner?.isCrashed === true) continue;
      if (owner?.isFrozen !== true) return first;
      park({ ...first, owner });
    }
    return undefined;
  };

  return {
    now: () => nowMs,
    delay: (owner, durationMs) => new Promise((resolve) => schedule(owner, durationMs, resolve)),

    clockOf: (owner) => ({
      now: () => nowMs + owner.clockSkewMs,
      sleep: (durationMs, signal) =>
        new Promise((resolve, reject) => {
          if (signal?.aborted) return reject(signal.reason);
          const sleepers = signal && sleepersOf(signal);
          sleepers?.add(reject);
          schedule(owner, durationMs, () => {
            sleepers?.delete(reject);
            resolve();
          });
        }),
    }),

    thaw(owner) {
      owner.isFrozen = false;
      for (const { wake } of parked.get(owner) ?? []) schedule(owner, 0, wake);
      parked.delete(owner);
    },

    runUntil: (atMs) =>
      stepWhenSettled(() => {
        const first = nextDue(atMs);
        if (first === undefined) nowMs = Math.max(nowMs, atMs);
        else first.wake();
        return first !== undefined;
      }),
  };
}

/** A turn of Node's event loop costs more than most wake-ups do, so one turn serves this many of them. */
const IMMEDIATES_PER_TURN = 32;

/**
 * Returns a function that calls `step` until it returns false, each time once every promise has settled that can,
 * however long its chain. If the next wake-up overtook such a chain, the code under test would seem slower than it is.
 * Node settles all promises between two immediates, also between those of one turn.
 */
function settledSteps(): (step: () => boolean) => Promise<void> {
  let aheadCount = 0;
  let proceed: (() => void) | undefined;
  const onImmediate = () => {
    aheadCount -= 1;
    proceed?.();
    if (proceed !== undefined && aheadCount === 0) queueTurn();
  };
  const queueTurn = () => {
    aheadCount = IMMEDIATES_PER_TURN;
    for (let count = 0; count < IMMEDIATES_PER_TURN; count++) setImmediate(onImmediate);
  };
  return (step) =>
    new Promise((resolve) => {
      proceed = () => {
        if (step()) return;
        proceed = undefined;
        resolve();
      };
      if (aheadCount === 0) queueTurn();
    });
}

type Reject = (reason: unknown) => void;

/** A signal is listened to once for all that sleep with it, because each listener costs more than the sleep itself. */
const SLEEPERS = new WeakMap<AbortSignal, Set<Reject>>();

function sleepersOf(signal: AbortSignal): Set<Reject> {
  const known = SLEEPERS.get(signal);
  if (known !== undefined) return known;
  const sleepers = new Set<Reject>();
  SLEEPERS.set(signal, sleepers);
  const onAbort = () => {
    for (const reject of sleepers) reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  return sleepers;
}

function isBefore(a: WakeUp, b: WakeUp): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function push(heap: WakeUp[], item: WakeUp): void {
  let index = heap.push(item) - 1;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex];
    if (parent === undefined || !isBefore(item, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = item;
}

function pop(heap: WakeUp[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    const leftItem = heap[left];
    if (leftItem === undefined) break;
    const rightItem = heap[left + 1];
    const useRight = rightItem !== undefined && isBefore(rightItem, leftItem);
    const child = useRight ? rightItem : leftItem;
    if (!isBefore(child, last)) break;
    heap[index] = child;
    index = useRight ? left + 1 : left;
  }
  heap[index] = last;
}
