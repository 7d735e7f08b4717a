/**
 * Holds the shared state of one simulated run: time, dice, counters, and the one function through which every I/O
 * call goes.
 */

import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import { type FaultKind, foreignFaultKinds, type SimulationOptions } from './options.ts';
import { DEAF, type PortListener } from './port-listener.ts';
import { createScheduler, type Process, type Scheduler } from './scheduler.ts';

export interface World {
  readonly options: SimulationOptions;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** Foreign faults are thrown with these dice, so that they move nothing else of a run. */
  readonly foreign: Random;
  /** The table has had the item of the account since this time. */
  accountKeptMs: number | undefined;
  readonly fired: Map<FaultKind, number>;
  /** It is told what crosses the ports. */
  listener: PortListener;
  /** Says whether faults may happen. It is false once the quiet phase begins, in which everything works. */
  isChaotic: boolean;
  /** Draws whether a fault happens, and counts it when it does. */
  strikes(kind: FaultKind): boolean;
  fire(kind: FaultKind): void;
  /**
   * Performs one I/O call: time passes, the effect happens at one instant, and time passes again. The owner can crash
   * in either half.
   */
  call<T>(owner: Process, effect: () => T): Promise<T>;
}

/** Each wait has a promise of its own: one for all would keep every crashed process, and so every run, in memory. */
const never = () => new Promise<never>(() => {});
const FOREIGN: ReadonlySet<string> = new Set(foreignFaultKinds);
const FOREIGN_DICE = 0x41;

const LATENCY_MS_MAX = 40;

/** A pause stands for a frozen Lambda environment or a lost packet. It can be longer than an invocation. */
const PAUSE_MS_MAX = 90_000;

export function createWorld(options: SimulationOptions, startMs: number): World {
  const random = seededRandom(options.seed);
  const foreign = seededRandom(options.seed ^ FOREIGN_DICE);
  const scheduler = createScheduler(startMs);
  const fired = new Map<FaultKind, number>();

  const world: World = {
    options,
    scheduler,
    random,
    foreign,
    accountKeptMs: undefined,
    fired,
    listener: DEAF,
    isChaotic: true,

    strikes(kind) {
      const strikes = (FOREIGN.has(kind) ? foreign : random).next() < options.faults[kind] && world.isChaotic;
      if (strikes) world.fire(kind);
      return strikes;
    },

    fire(kind) {
      fired.set(kind, (fired.get(kind) ?? 0) + 1);
    },

    async call(owner, effect) {
      await scheduler.delay(owner, latencyMs());
      if (crashes(owner, 'crash_before_call')) return never();
      const result = attempt(effect);
      if (crashes(owner, 'crash_after_call')) return never();
      await scheduler.delay(owner, latencyMs());
      if ('error' in result) throw result.error;
      return result.value;
    },
  };
  return world;

  function latencyMs(): number {
    const pauseMs = world.strikes('pause') ? random.next() * PAUSE_MS_MAX : 0;
    return pauseMs + random.next() * LATENCY_MS_MAX;
  }

  function crashes(owner: Process, kind: FaultKind): boolean {
    if (world.strikes(kind)) owner.isCrashed = true;
    return owner.isCrashed;
  }
}

function attempt<T>(effect: () => T): { value: T } | { error: unknown } {
  try {
    return { value: effect() };
  } catch (error) {
    return { error };
  }
}
