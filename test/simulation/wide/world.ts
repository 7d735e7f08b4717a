/** Holds what all parts of one wide run share: time, dice, counters, the trace, and the duration of every call. */

import { type Random, seededRandom } from '../../../shared/runtime/random.ts';
import { DEAF, type PortListener } from '../port-listener.ts';
import { createScheduler, type Process, type Scheduler } from '../scheduler.ts';
import { isForeignFault, type WideFault } from './faults.ts';
import type { Duration, WidePlan } from './plan.ts';

/** Takes one line of the trace: which process did what, and why. */
export type Trace = (line: {
  readonly atMs: number;
  readonly who: string;
  readonly what: string;
  readonly why: string;
}) => void;

type TraceText = string | (() => string);

export interface WideWorld {
  readonly plan: WidePlan;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** Foreign faults are thrown with these dice, so that they move nothing else of a run. */
  readonly foreign: Random;
  readonly fired: Map<WideFault, number>;
  /** It is told what crosses the ports. */
  listener: PortListener;
  /** Says whether new faults may start. It is false in quiet times and at the end. */
  isChaotic: boolean;
  /** Draws whether a fault happens, and counts it when it does. */
  strikes(kind: WideFault): boolean;
  fire(kind: WideFault): void;
  /** Text that takes work is given as a function, which is called only when there is a trace. */
  note(who: string, what: TraceText, why?: TraceText): void;
  /**
   * Performs one call over a network: time passes, the effect happens at one instant, and time passes again. A
   * request that left a process arrives even when the process then crashes or freezes. The answer returns only while
   * the process lives.
   */
  call<T>(owner: Process, duration: Duration, effect: () => T): Promise<T>;
}

const FOREIGN_DICE = 0x41;

/** Each wait has a promise of its own: one for all would keep every crashed process, and so every run, in memory. */
const never = () => new Promise<never>(() => {});

export function createWideWorld(plan: WidePlan, startMs: number, trace: Trace | undefined): WideWorld {
  const random = seededRandom(plan.seed);
  const foreign = seededRandom(plan.seed ^ FOREIGN_DICE);
  const scheduler = createScheduler(startMs);
  const fired = new Map<WideFault, number>();
  const world: WideWorld = {
    plan,
    scheduler,
    random,
    foreign,
    fired,
    listener: DEAF,
    isChaotic: true,
    strikes(kind) {
      const thrown = (isForeignFault(kind) ? foreign : random).next();
      const strikes = thrown < plan.faults[kind] && world.isChaotic;
      if (strikes) world.fire(kind);
      return strikes;
    },
    fire(kind) {
      fired.set(kind, (fired.get(kind) ?? 0) + 1);
    },
    note(who, what, why = '') {
      trace?.({ atMs: scheduler.now(), who, what: textOf(what), why: textOf(why) });
    },
    async call(owner, [shortestMs, longestMs], effect) {
      const durationMs = shortestMs + random.next() * (longestMs - shortestMs);
      if (crashes(owner)) return never();
      await scheduler.delay(undefined, durationMs / 2);
      const result = attempt(effect);
      if (crashes(owner)) return never();
      await scheduler.delay(owner, durationMs / 2);
      if ('error' in result) throw result.error;
      return result.value;
    },
  };
  return world;

  function crashes(owner: Process): boolean {
    const { crashKind = 'lambda_crashed' } = owner;
    if (!owner.isCrashed && crashKind !== 'never' && world.strikes(crashKind)) {
      owner.isCrashed = true;
      world.note(owner.name, 'crashed', 'at a call');
    }
    return owner.isCrashed;
  }
}

const textOf = (text: TraceText) => (typeof text === 'string' ? text : text());

function attempt<T>(effect: () => T): { value: T } | { error: unknown } {
  try {
    return { value: effect() };
  } catch (error) {
    return { error };
  }
}
