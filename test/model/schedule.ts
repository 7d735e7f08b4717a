/** Plays one seeded schedule: three processes that crash, pause and overtake each other in a wild world, and then a calm one, which is judged. */

import type { Step } from './accept.ts';
import { command, isNews, type Process, poll, type Rule, type Steps, sweep } from './protocol.ts';
import { type BusEvent, type Features, PAGES_UNLIMITED, type Snapshot, stateOf, World } from './world.ts';

export interface Schedule {
  readonly seed: number;
  /** The protocol does without this rule. */
  readonly without?: Rule | undefined;
  /** Hears what crosses the ports. */
  readonly hear?: ((step: Step) => void) | undefined;
  readonly forced?: Partial<Features> | undefined;
}

interface Slot {
  process: Process;
  steps: Steps | undefined;
  pausedFor: number;
}

const STEPS = 220;
const SLOTS = 3;
/** A process that needs more steps than this never ends. */
const STEPS_MAX = 20_000;

/** Returns the world at its end, with what was violated. */
export function play({ seed, without, forced, hear = () => {} }: Schedule): World {
  const world = new World(seed, forced);
  world.hear = hear;
  let processCount = 0;
  const fresh = (): Slot => ({
    process: { name: `p${processCount++}`, settled: new Map() },
    steps: undefined,
    pausedFor: 0,
  });
  const slots = Array.from({ length: SLOTS }, fresh);
  playWild(world, slots, { fresh, without });
  const calmAt = world.now;
  for (const { process, steps } of slots) if (steps !== undefined) runToEnd(world, process, steps);
  playCalm(world, fresh().process, without);
  giveUp(world, calmAt);
  judge(world);
  return world;
}

interface Rest {
  readonly fresh: () => Slot;
  readonly without: Rule | undefined;
}

function playWild(world: World, slots: Slot[], { fresh, without }: Rest): void {
  const { random, features } = world;
  let snapshot: Snapshot | undefined;
  let [hasSlept, isRestored] = [false, false];
  for (let step = 0; step < STEPS; step++) {
    if (random() < 0.22) world.tick();
    if (features.outages && random() < 0.012) outage(world);
    if (features.sleep && !hasSlept && step > 90 && random() < 0.03) {
      hasSlept = true;
      world.sleep(400 + Math.floor(random() * 1_600));
    }
    if (features.restore && snapshot === undefined && step > 40 && random() < 0.03)
      snapshot = world.snapshot();
    else if (snapshot !== undefined && !isRestored && random() < 0.02 && world.now - snapshot.takenAt < 300) {
      isRestored = true;
      world.restore(snapshot);
      for (const slot of slots) {
        slot.steps = undefined;
        if (without !== 'memory ends with the table') Object.assign(slot, fresh());
      }
    }
    const slot = slots[Math.floor(random() * slots.length)];
    if (slot !== undefined) advance(world, slot, { fresh, without });
  }
  world.isWild = false;
}

function outage(world: World): void {
  world.hit('outage');
  const ticks = 8 + Math.floor(world.random() * 30);
  for (let tick = 0; tick < ticks; tick++) {
    if (world.random() < 0.25) world.tick();
    else world.now += 1;
  }
}

/** Lets the process of a slot take one step, begin something, pause, or crash. */
function advance(world: World, slot: Slot, { fresh, without }: Rest): void {
  const { random } = world;
  if (slot.steps === undefined) {
    if (random() < 0.35) slot.steps = begin(world, slot.process, without);
    return;
  }
  if (slot.pausedFor > 0) {
    slot.pausedFor -= 1;
    return;
  }
  if (world.chance(0.012)) {
    world.hit('crash');
    world.say(`${slot.process.name} crashes`);
    Object.assign(slot, fresh());
    return;
  }
  if (world.chance(0.02)) {
    world.hit('pause');
    slot.pausedFor = 5 + Math.floor(random() * 50);
  }
  world.actor = slot.process.name;
  if (slot.steps.next().done === true) slot.steps = undefined;
}

function begin(world: World, process: Process, without: Rule | undefined): Steps {
  const { random, features } = world;
  if (features.commands && random() < 0.25) return command(world, process, without);
  const isSweep = features.sweeps && random() < 0.12;
  return isSweep ? sweep(world, process, without) : poll(world, process, without);
}

function runToEnd(world: World, process: Process, steps: Steps): void {
  world.actor = process.name;
  for (let step = 0; steps.next().done !== true; step++)
    if (step > STEPS_MAX) {
      world.violate('a process never ends');
      return;
    }
}

/** One process polls as long as the longest list needs, and sweeps where rows can be late or tied. */
function playCalm(world: World, process: Process, without: Rule | undefined): void {
  const { sweeps, tiedPlaces, pageSize, pagesMax } = world.features;
  const rounds = pagesMax < PAGES_UNLIMITED ? 45 : 9;
  const sweepCount =
    sweeps && without !== 'a sweep reads what walks do not find'
      ? tiedPlaces && pageSize > 1
        ? 8
        : pageSize
      : 0;
  for (let round = 0; round < rounds; round++) {
    world.now += round < 6 ? 8 : 20;
    for (let each = 0; each < (round < 6 ? sweepCount : 0); each++)
      runToEnd(world, process, sweep(world, process, without));
    runToEnd(world, process, poll(world, process, without));
  }
}

/** Nobody owes what no sweep could reach any more when it came into view. */
function giveUp(world: World, calmAt: number): void {
  for (const operation of world.operations)
    if ((operation.isVeryLate || operation.isTied) && operation.createdAt < calmAt - 30)
      operation.isGone = true;
}

/** Judges the promises: nothing is lost, invented, told twice, or told although it is history. */
function judge(world: World): void {
  const copies = Map.groupBy(world.delivered, ({ id }) => id);
  for (const [, events] of copies)
    if (new Set(events.map((event) => JSON.stringify(event))).size > 1)
      world.violate(`copies differ: ${events[0]?.operationId}`);
  const recorded = new Set(world.recorded.map(({ id }) => id));
  for (const { id, sequence, operationId } of world.delivered)
    if (sequence !== undefined && !recorded.has(id) && !world.takenBack.has(id))
      world.violate(`published and never recorded: ${operationId}`);
  for (const { id, operationId } of world.recorded)
    if (!copies.has(id)) world.violate(`recorded and never published: ${operationId}`);
  const chains = Map.groupBy(world.recorded, ({ operationId }) => operationId);
  for (const { id } of world.operations) judgeOperation(world, id, chains.get(id) ?? []);
  judgePairs(world, new Set(copies.keys()));
}

function judgeOperation(world: World, id: string, events: readonly BusEvent[]): void {
  const operation = world.operations.find((one) => one.id === id);
  if (operation === undefined) return;
  const chain = events.toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0));
  let at = -1;
  for (const [place, event] of chain.entries()) {
    if (event.sequence !== place + 1) world.violate(`told twice, or with a gap: ${id}`);
    if (event.from !== (chain[place - 1]?.to ?? null)) world.violate(`a wrong previous status: ${id}`);
    const found = operation.states.findIndex(
      (state, index) => index > at && state.status === event.to && state.failures === event.failures,
    );
    if (found < 0) world.violate(`invented: ${id} ${event.from} -> ${event.to}`);
    else at = found;
  }
  const news = isNews(world, id);
  if (news === false && chain.length > 0) world.violate(`history told: ${id}`);
  if (operation.isGone || operation.isPoison || (operation.isTied && world.features.pageSize === 1)) return;
  const [last, truth] = [chain.at(-1), stateOf(operation)];
  if (news === true && last === undefined) world.violate(`lost: ${id} was never told`);
  else if (news === true && (last?.to !== truth.status || last.failures !== truth.failures))
    world.violate(`lost: the last state of ${id}`);
  const item = world.storedOperation(id);
  if (item !== undefined && item.published < item.sequence) world.violate(`not published: ${id}`);
}

function judgePairs(world: World, delivered: ReadonlySet<string>): void {
  for (let pair = 0; pair + 1 < world.operations.length; pair += 2) {
    const ids = [`o${pair}`, `o${pair + 1}`];
    const isReady = ids.every((id) => world.storedOperation(id)?.status === 'finished');
    const isTold = delivered.has(`ready ${pair}`);
    if (isReady && !isTold && !world.features.poisonedPairs.includes(pair))
      world.violate(`not derived: pair ${pair}`);
    const isTrue = world.operations.slice(pair, pair + 2).every((one) => stateOf(one).status === 'finished');
    if (isTold && !isTrue) world.violate(`derived and not true: pair ${pair}`);
  }
}
