/**
 * Runs the poller as Lambda does: on a schedule, in environments that stay warm, freeze, and are killed at their
 * time-out.
 */

import { toError } from '../../../../shared/runtime/errors.ts';
import type { Process } from '../../scheduler.ts';
import { INVOCATION_MS } from '../promised.ts';
import type { Stage } from '../stage.ts';
import { phaseAt } from '../timeline.ts';
import type { WideWorld } from '../world.ts';
import { createPoller, type Poller } from './poller.ts';

interface Environment {
  readonly process: Process;
  readonly poller: Poller;
  isBusy: boolean;
  /**
   * Says whether the environment was frozen in the middle of its invocation, so that being late is not its own fault.
   */
  wasFrozen: boolean;
}

/** The feed allows for clocks that differ by half a minute. The close world has clocks that are wrong by a day. */
const SKEW_MS_MAX = 25_000;

/** A frozen environment can wake up long after another one has taken over. */
const FREEZE_MS_MAX = 5 * 60_000;

export async function runSchedule(stage: Stage): Promise<void> {
  const { world, timeline } = stage;
  const { scheduler } = world;
  const environments: Environment[] = [];
  for (;;) {
    const phase = phaseAt(timeline, scheduler.now());
    if (phase === undefined) return;
    if (phase.invocationEveryMs === undefined) {
      await scheduler.delay(undefined, phase.toMs - scheduler.now());
      continue;
    }
    if (world.strikes('invocation_missed')) world.note('schedule', 'no invocation', 'it was missed');
    else beginInvocation(stage, environments, phase.invocationMs);
    await scheduler.delay(undefined, Math.min(phase.invocationEveryMs, phase.toMs - scheduler.now()));
  }
}

function beginInvocation(stage: Stage, environments: Environment[], timeoutMs: number): void {
  const { world } = stage;
  const alive = environments.filter(({ process }) => !process.isCrashed);
  environments.splice(0, environments.length, ...alive);
  const isRunning = alive.some(({ isBusy }) => isBusy);
  if (isRunning && world.plan.isReserved) {
    world.note('schedule', 'no invocation', 'one is running');
    return;
  }
  if (isRunning) world.fire('invocation_overlapping');
  const warm = world.strikes('lambda_cold_start') ? undefined : alive.find(({ isBusy }) => !isBusy);
  const environment = warm ?? newEnvironment(stage);
  if (warm === undefined) environments.push(environment);
  void invoke(stage, environment, timeoutMs);
}

function newEnvironment(stage: Stage): Environment {
  const { world, processes } = stage;
  const name = `poller-${processes.size}`;
  const skewMs = world.strikes('clock_wrong') ? Math.floor((world.random.next() - 0.5) * SKEW_MS_MAX) : 0;
  const process: Process = { name, isCrashed: false, clockSkewMs: skewMs };
  processes.add(process);
  return {
    process,
    poller: createPoller(stage, process),
    isBusy: false,
    wasFrozen: false,
  };
}

async function invoke(stage: Stage, environment: Environment, timeoutMs: number): Promise<void> {
  const { world } = stage;
  const { process, poller } = environment;
  environment.isBusy = true;
  environment.wasFrozen = false;
  const { clockSkewMs } = process;
  thaw(world, process);
  void setClockBack(stage, environment);
  world.note(process.name, 'begins');
  const invocation = {
    by: process.name,
    fromMs: world.scheduler.now(),
    toMs: Number.POSITIVE_INFINITY,
  };
  stage.invocations.push(invocation);
  void killAtTimeout(stage, environment, timeoutMs);
  void freezeInTheMiddle(stage, environment);
  const endsAtMs = world.scheduler.now() + timeoutMs;
  try {
    const report = await poller.handle(endsAtMs);
    world.note(process.name, 'ends', JSON.stringify(report));
  } catch (error) {
    const { name, message } = toError(error);
    stage.endings.push({
      atMs: world.scheduler.now(),
      by: process.name,
      kind: 'failed',
      detail: `${name}: ${message}`,
    });
    world.note(process.name, 'fails', `${name}: ${message}`);
  }
  invocation.toMs = world.scheduler.now();
  environment.isBusy = false;
  process.clockSkewMs = clockSkewMs;
  // Lambda freezes an environment between two invocations.
  freeze(world, process);
}

const frozenAtMs = new WeakMap<Process, number>();

function freeze({ scheduler }: WideWorld, process: Process): void {
  process.isFrozen = true;
  frozenAtMs.set(process, scheduler.now());
}

/** A monotonic clock may stand still while the machine does. */
function thaw(world: WideWorld, process: Process): void {
  const stoodMs = world.scheduler.now() - (frozenAtMs.get(process) ?? world.scheduler.now());
  if (world.plan.faults.monotonic_clock_stands > 0 && process.isFrozen === true) {
    process.stoodStillMs = (process.stoodStillMs ?? 0) + stoodMs;
    world.fire('monotonic_clock_stands');
  }
  world.scheduler.thaw(process);
}

/** The machine's clock is set back in the middle of an invocation, by less than clocks may differ, and is right again at its end. */
async function setClockBack({ world }: Stage, environment: Environment): Promise<void> {
  if (!world.strikes('wall_clock_set_back')) return;
  const { scheduler, foreign } = world;
  await scheduler.delay(undefined, foreign.next() * 40_000);
  if (!environment.isBusy || environment.process.isCrashed) return;
  environment.process.clockSkewMs -= Math.floor(foreign.next() * SKEW_MS_MAX);
  world.note(environment.process.name, 'its clock is set back');
}

async function killAtTimeout(stage: Stage, environment: Environment, timeoutMs: number): Promise<void> {
  const { world } = stage;
  const { process } = environment;
  const invocation = (invocations.get(environment) ?? 0) + 1;
  invocations.set(environment, invocation);
  await world.scheduler.delay(undefined, timeoutMs);
  const isOver = () =>
    !environment.isBusy || invocations.get(environment) !== invocation || process.isCrashed;
  if (isOver()) return;
  if (environment.wasFrozen) {
    // The virtual machine was frozen, and the clock of its time-out with it.
    await world.scheduler.delay(undefined, FREEZE_MS_MAX + INVOCATION_MS);
    if (!isOver()) process.isCrashed = true;
    return;
  }
  process.isCrashed = true;
  world.note(process.name, 'killed', 'at its time-out');
  stage.endings.push({ atMs: world.scheduler.now(), by: process.name, kind: 'killed', detail: '' });
}

const invocations = new WeakMap<Environment, number>();

async function freezeInTheMiddle({ world }: Stage, environment: Environment): Promise<void> {
  if (!world.strikes('lambda_frozen')) return;
  const { scheduler, random } = world;
  const { process } = environment;
  await scheduler.delay(undefined, random.next() * 55_000);
  if (!environment.isBusy || process.isCrashed) return;
  freeze(world, process);
  environment.wasFrozen = true;
  world.note(process.name, 'frozen');
  await scheduler.delay(undefined, 5_000 + random.next() * FREEZE_MS_MAX);
  if (!environment.isBusy) return;
  world.note(process.name, 'wakes up');
  thaw(world, process);
}
