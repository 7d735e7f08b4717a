/**
 * The world around the protocol, scaled down: one tick stands for a minute or a day, as the numbers of `TIMES` say. It has an upstream that
 * tells the truth late and by wrong clocks, a table with a lagging index, and a bus. One seed is one world.
 */

import type { Item as HeardItem, Step } from './accept.ts';

export const TIMES = {
  /** Rows become visible this late at most, and replicas lag; a walk reads this far below its bound. */
  overlap: 6,
  /** A replica lags for less than this. */
  lag: 5,
  /** A reading is good for this long. */
  reading: 60,
  /** The upstream shows an operation for this long. */
  horizon: 1_000,
  /** An unknown row that is older than this is history. */
  history: 1_040,
  /** A record stays for this long after its acknowledgement. */
  retention: 1_100,
  /** No outbox is ever full. */
  pendingMax: Number.POSITIVE_INFINITY,
  /** A sweep reads this deep. */
  sweep: 70,
} as const;

export type Status =
  | 'scheduling'
  | 'running'
  | 'failed'
  | 'cancelling'
  | 'finished'
  | 'skipped'
  | 'cancelled';

const TERMINAL: ReadonlySet<Status> = new Set(['finished', 'skipped', 'cancelled']);

export const isTerminal = (status: Status): boolean => TERMINAL.has(status);

interface State {
  readonly at: number;
  readonly status: Status;
  readonly failures: number;
  readonly updatedAt: number;
}

/** An operation as it really is. */
export interface Operation {
  readonly id: string;
  /** Rows show whole ticks. */
  readonly createdAt: number;
  /** The order of the list, a hundred times finer than a tick. Cursors are made of it. */
  readonly place: number;
  readonly bornAt: number;
  readonly visibleAt: number;
  readonly states: State[];
  readonly isFuture: boolean;
  /** The row becomes visible later than the overlap, so only a sweep can find it. */
  readonly isVeryLate: boolean;
  /** No record of it can be written, whoever tries. */
  readonly isPoison: boolean;
  readonly isCommand: boolean;
  /** Another row has the same place. */
  isTied: boolean;
  /** The upstream shows it no more, or nobody owes it any more. */
  isGone: boolean;
}

/** An operation as the upstream shows it. */
export interface Row {
  readonly id: string;
  readonly createdAt: number;
  readonly place: number;
  readonly status: Status;
  readonly failures: number;
  readonly updatedAt: number;
}

export interface Page {
  readonly rows: readonly Row[];
  readonly cursor: number | null;
  readonly isShort: boolean;
  /** The answer's own clock. */
  readonly date: number;
}

export interface BusEvent {
  readonly id: string;
  readonly operationId: string;
  /** A derived event has none. */
  readonly sequence?: number;
  readonly from?: Status | null;
  readonly to?: Status;
  readonly failures?: number;
  readonly updatedAt?: number;
  readonly observedAt?: number;
}

export interface ProjectItem {
  readonly since: number;
  readonly bound: number | null;
  readonly resume: { readonly cursor: number; readonly head: number | null } | null;
}

export interface OperationItem {
  readonly createdAt: number;
  readonly status: Status;
  readonly failures: number;
  readonly updatedAt: number;
  /** Our clock when the reading was requested. */
  readonly observedAt: number;
  readonly sequence: number;
  readonly published: number;
  readonly derived: number;
  readonly outbox: readonly BusEvent[];
  readonly work: boolean;
  readonly expiresAt?: number | undefined;
}

/** `condition` was not carried out; of `reply lost` the caller does not know that it was. */
export class Refusal extends Error {
  readonly kind: 'throttled' | 'condition' | 'reply lost' | 'too many requests';

  constructor(kind: Refusal['kind']) {
    super(kind);
    this.kind = kind;
  }
}

/** What happens in a world; each is drawn by the seed, or forced. */
export interface Features {
  late: boolean;
  veryLate: boolean;
  tiedTicks: boolean;
  tiedPlaces: boolean;
  future: boolean;
  replicas: boolean;
  shortPages: boolean;
  wrongDates: boolean;
  stuckUpdates: boolean;
  poison: boolean;
  history: boolean;
  commands: boolean;
  restore: boolean;
  sleep: boolean;
  /** The upstream shows rows for ever. */
  keepsRows: boolean;
  outages: boolean;
  bursts: boolean;
  sweeps: boolean;
  /** Our own clock is this far off, for the whole run. */
  skew: number;
  pageSize: number;
  /** One poll asks for this many pages at most. */
  pagesMax: number;
  /** What derives from these pairs of operations can never be published. */
  poisonedPairs: readonly number[];
}

export const PAGES_UNLIMITED = 99;

export type Random = () => number;

function seeded(seed: number): Random {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function drawFeatures(random: Random): Features {
  const on = (chance: number) => random() < chance;
  const drawn: Features = {
    late: on(0.35),
    veryLate: on(0.12),
    tiedTicks: on(0.3),
    tiedPlaces: on(0.15),
    future: on(0.2),
    replicas: on(0.15),
    shortPages: on(0.35),
    wrongDates: on(0.12),
    stuckUpdates: on(0.1),
    poison: on(0.08),
    history: on(0.4),
    commands: on(0.45),
    restore: on(0.15),
    sleep: on(0.2),
    keepsRows: on(0.3),
    outages: on(0.3),
    bursts: on(0.35),
    sweeps: on(0.6),
    skew: on(0.06) ? (on(0.5) ? 2_000 : -50) : 0,
    pageSize: 1 + Math.floor(random() * 3),
    pagesMax: on(0.35) ? 2 + Math.floor(random() * 3) : PAGES_UNLIMITED,
    poisonedPairs: on(0.1) ? [0, 4] : [],
  };
  return drawn;
}

/** These pairs of faults are more than anybody promises to bear. */
function withoutImpossible(features: Features): Features {
  const { veryLate, tiedPlaces, poison, replicas, stuckUpdates, skew, wrongDates } = features;
  return {
    ...features,
    sweeps: features.sweeps || veryLate || tiedPlaces || poison,
    stuckUpdates: stuckUpdates && !replicas,
    wrongDates: wrongDates && skew === 0,
  };
}

const NEXT: Readonly<Partial<Record<Status, readonly Status[]>>> = {
  scheduling: ['running', 'running', 'skipped'],
  running: ['finished', 'finished', 'failed', 'cancelling'],
  failed: ['running', 'failed'],
  cancelling: ['cancelled'],
};

const OPERATIONS_MAX = 9;
const START = 100;

export type Item = ProjectItem | OperationItem;

interface Delayed {
  readonly key: string;
  readonly at: number;
  readonly item: OperationItem;
}

export interface Snapshot {
  readonly takenAt: number;
  readonly items: ReadonlyMap<string, Item>;
  readonly recordedCount: number;
}

export class World {
  readonly random: Random;
  readonly features: Features;
  readonly fired = new Map<string, number>();
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  readonly operations: Operation[] = [];
  /** What reached the bus, copies too. */
  readonly delivered: BusEvent[] = [];
  /** What was recorded, in its order. A restore takes some of it back. */
  readonly recorded: BusEvent[] = [];
  readonly takenBack = new Set<string>();
  now = START;
  /** The project was really seen first at this tick. */
  seenAt = Number.POSITIVE_INFINITY;
  /** When false, nothing fails any more and the upstream stands still. */
  isWild = true;
  operationsMax = OPERATIONS_MAX;
  /** The process of this name takes the present step. */
  actor = '';
  /** Hears what crosses the ports. */
  hear: (step: Step) => void = () => {};
  /** So many steps were heard. */
  heardCount = 0;
  private items = new Map<string, Item>();
  private index = new Map<string, OperationItem>();
  private delayed: Delayed[] = [];
  private indexedAt = 0;

  constructor(seed: number, forced: Partial<Features> = {}) {
    this.random = seeded(seed);
    this.features = withoutImpossible({ ...drawFeatures(this.random), ...forced });
    if (!this.features.history) return;
    const count = 1 + Math.floor(this.random() * 4);
    for (let each = 0; each < count; each++) {
      this.now = 60 + each * 8;
      this.create({ status: this.random() < 0.75 ? 'finished' : undefined });
    }
    this.now = START;
  }

  chance(share: number): boolean {
    return this.isWild && this.random() < share;
  }

  hit(fault: string): void {
    this.fired.set(fault, (this.fired.get(fault) ?? 0) + 1);
  }

  say(line: string): void {
    this.trace.push(`${this.now} ${line}`);
  }

  /** Returns what every call of the present process has. */
  call() {
    return { process: this.actor, sentAt: this.heardCount, clock: this.clock() };
  }

  heard(step: Step): void {
    this.hear(step);
    this.heardCount += 1;
  }

  violate(what: string): void {
    this.violations.push(what);
    this.say(`VIOLATION ${what}`);
  }

  // The upstream.

  create({
    status,
    isCommand = false,
  }: {
    status?: Status | undefined;
    isCommand?: boolean;
  } = {}): Operation {
    const { random, features } = this;
    const isHistory = status !== undefined;
    const last = this.operations.at(-1);
    const isTiedTick =
      features.tiedTicks && last !== undefined && random() < 0.3 && last.bornAt >= this.now - 2;
    let createdAt = isTiedTick && last.createdAt <= this.now ? last.createdAt : this.now;
    let place = this.freePlace(createdAt);
    const isTied =
      features.tiedPlaces &&
      last !== undefined &&
      !last.isTied &&
      !last.isFuture &&
      random() < 0.35 &&
      this.now - last.bornAt <= 3;
    if (isTied) {
      ({ place, createdAt } = last);
      last.isTied = true;
      this.hit('places tied');
    }
    let lateBy = 0;
    if (!isHistory && features.late && random() < 0.35) {
      lateBy = 1 + Math.floor(random() * (features.replicas ? TIMES.overlap - TIMES.lag + 1 : TIMES.overlap));
      this.hit('row late');
    }
    if (!isHistory && features.veryLate && random() < 0.25) {
      lateBy = TIMES.overlap + 2 + Math.floor(random() * 25);
      this.hit('row very late');
    }
    const isFuture = !isHistory && !isTied && features.future && random() < 0.25;
    if (isFuture) {
      createdAt += random() < 0.6 ? 12 + Math.floor(random() * 30) : 1_500;
      place = this.freePlace(createdAt);
      this.hit('row from the future');
    } else createdAt = Math.floor(place / 100);
    const visibleAt = Math.max(this.now, createdAt > this.now ? this.now + lateBy : createdAt + lateBy);
    const operation: Operation = {
      id: `o${this.operations.length}`,
      createdAt,
      place,
      bornAt: this.now,
      visibleAt,
      states: [
        {
          at: this.now,
          status: status ?? (random() < 0.5 ? 'scheduling' : 'running'),
          failures: 0,
          updatedAt: this.now,
        },
      ],
      isFuture,
      isVeryLate: !isFuture && visibleAt - createdAt > TIMES.overlap,
      isPoison: features.poison && !isHistory && !isCommand && random() < 0.2,
      isCommand,
      isTied,
      isGone: false,
    };
    this.operations.push(operation);
    this.say(
      `upstream: ${operation.id} created_at ${createdAt}, visible at ${visibleAt}${isFuture ? ', from the future' : ''}`,
    );
    return operation;
  }

  private freePlace(createdAt: number): number {
    let place = createdAt * 100 + Math.floor(this.random() * 100);
    while (this.operations.some((one) => one.place === place)) place += 1;
    return place;
  }

  private change(operation: Operation): void {
    const last = stateOf(operation);
    const nexts = NEXT[last.status];
    const status = nexts?.[Math.floor(this.random() * nexts.length)];
    if (status === undefined) return;
    const isStuck = this.features.stuckUpdates && this.random() < 0.4;
    if (isStuck) this.hit('updated_at stuck');
    const updatedAt = isStuck ? last.updatedAt - (this.random() < 0.6 ? 0 : 1) : this.now;
    const failures = last.failures + (status === 'failed' ? 1 : 0);
    operation.states.push({ at: this.now, status, failures, updatedAt });
    this.say(`upstream: ${operation.id} ${last.status} -> ${status}`);
  }

  /** Time passes, and while the world is wild, operations begin and change. */
  tick(): void {
    this.now += 1;
    if (!this.isWild) return;
    let count = this.random() < 0.3 ? 1 : 0;
    if (this.features.bursts && this.random() < 0.06) count += 3;
    for (; count > 0 && this.operations.length < this.operationsMax; count--) this.create();
    for (const operation of this.operations)
      if (!operation.isGone && this.random() < 0.2) this.change(operation);
  }

  /** For a long time nobody polls, and the upstream drops what is older than it shows. */
  sleep(ticks: number): void {
    this.hit('asleep for long');
    this.say(`nobody polls for ${ticks} ticks`);
    for (let part = 0; part < 3; part++) {
      this.now += Math.floor(ticks / 3);
      this.tick();
      this.tick();
    }
    if (!this.features.keepsRows)
      for (const operation of this.operations)
        if (operation.createdAt < this.now - TIMES.horizon) operation.isGone = true;
    this.expire();
    this.operationsMax += 3;
  }

  clock(): number {
    return this.now + this.features.skew;
  }

  date(): number {
    if (!this.features.wrongDates || !this.chance(0.15)) return this.now;
    this.hit('Date wrong');
    return this.now + (this.random() < 0.7 ? 2_000 : -40);
  }

  /** The tick of which an answer tells. */
  private answerOf(): number {
    if (!this.features.replicas || !this.chance(0.4)) return this.now;
    this.hit('replica lags');
    return this.now - 1 - Math.floor(this.random() * (TIMES.lag - 1));
  }

  list(cursor: number | null, limit: number = this.features.pageSize): Page {
    if (this.chance(0.03)) throw new Refusal('too many requests');
    const at = this.answerOf();
    const listed = this.operations
      .filter((one) => !one.isGone && one.visibleAt <= at && (cursor === null || one.place < cursor))
      .toSorted((a, b) => b.place - a.place || (a.id < b.id ? 1 : -1));
    let size = Math.min(limit, this.features.pageSize);
    if (this.features.shortPages && size > 1 && this.random() < 0.3) {
      size = 1 + Math.floor(this.random() * (size - 1));
      this.hit('page short');
    }
    const rows = listed.slice(0, size).map((one) => rowOf(one, at));
    const page = {
      rows,
      cursor: rows.at(-1)?.place ?? null,
      isShort: rows.length < this.features.pageSize,
      date: this.date(),
    };
    this.heard({
      ...this.call(),
      kind: 'list',
      project: PROJECT,
      cursor: textOf(cursor),
      rowCount: rows.length,
      rows: rows.map((row) => this.heardRow(row)),
      next: textOf(page.cursor),
      date: page.date,
    });
    return page;
  }

  get(id: string): Row | undefined {
    if (this.chance(0.03)) throw new Refusal('too many requests');
    const found = this.operations.find((one) => one.id === id);
    return found === undefined || found.isGone ? undefined : rowOf(found, this.answerOf());
  }

  heardRow({ id, ...row }: Row) {
    const isPassedOver = this.operations.some((one) => one.id === id && one.isPoison);
    return { ...row, key: keyOf(id), isPassedOver };
  }

  // The table. Items are values, and a write replaces one.

  readProject(): ProjectItem | undefined {
    this.hearRead(PROJECT);
    return this.storedProject();
  }

  readOperation(id: string): OperationItem | undefined {
    this.hearRead(id);
    return this.storedOperation(id);
  }

  private hearRead(id: string): void {
    const item = this.items.get(id);
    const { reach, journal } = item === undefined ? {} : heardItem(item);
    const { sequence = 0, published = 0 } = journal ?? {};
    this.heard({ ...this.call(), kind: 'read', key: keyOf(id), reach, sequence, published });
  }

  /** What the table holds, for those who judge. */
  storedProject(): ProjectItem | undefined {
    return this.items.get(PROJECT) as ProjectItem | undefined;
  }

  storedOperation(id: string): OperationItem | undefined {
    return this.items.get(id) as OperationItem | undefined;
  }

  writeProject(
    condition: (item: ProjectItem | undefined) => boolean,
    next: (item: ProjectItem | undefined) => ProjectItem,
  ): void {
    this.write(
      PROJECT,
      () => condition(this.storedProject()),
      () => next(this.storedProject()),
    );
  }

  writeOperation(
    id: string,
    condition: (item: OperationItem | undefined) => boolean,
    next: (item: OperationItem | undefined) => OperationItem,
    onApplied: () => void = () => {},
    /** A write of a state follows this sequence. */
    follows?: number,
  ): void {
    this.write(
      id,
      () => condition(this.storedOperation(id)),
      () => {
        const item = next(this.storedOperation(id));
        this.indexedAt = Math.max(
          this.indexedAt,
          this.now + (this.isWild ? Math.floor(this.random() * 4) : 0),
        );
        this.delayed.push({ key: id, at: this.indexedAt, item });
        onApplied();
        return item;
      },
      follows,
    );
  }

  private write(key: string, mayWrite: () => boolean, next: () => Item, follows?: number): void {
    if (this.chance(0.04)) {
      this.hit('write throttled');
      throw new Refusal('throttled');
    }
    if (!mayWrite()) {
      this.hit('condition refused');
      throw new Refusal('condition');
    }
    const item = next();
    this.items.set(key, item);
    const isLost = this.chance(0.04);
    this.heard({
      ...this.call(),
      kind: 'write',
      key: keyOf(key),
      isKnown: !isLost,
      state: follows === undefined ? undefined : { follows },
      item: heardItem(item),
      tableClock: this.now,
    });
    if (isLost) {
      this.hit('reply lost');
      throw new Refusal('reply lost');
    }
  }

  /** The index of open work lags behind the table. */
  readWork(): readonly string[] {
    const due = this.delayed.filter(({ at }) => at <= this.now);
    this.delayed = this.delayed.filter(({ at }) => at > this.now);
    for (const { key, item } of due) this.index.set(key, item);
    return [...this.index].filter(([, { work }]) => work).map(([key]) => key);
  }

  /** The table deletes what has expired. */
  expire(): void {
    for (const [key, item] of this.items)
      if ('expiresAt' in item && item.expiresAt !== undefined && item.expiresAt < this.now) {
        this.items.delete(key);
        this.index.delete(key);
        this.delayed = this.delayed.filter((one) => one.key !== key);
        this.hit('record expired');
        this.heard({ kind: 'expire', key: keyOf(key) });
        this.say(`${key} expires`);
      }
  }

  snapshot(): Snapshot {
    return { takenAt: this.now, items: new Map(this.items), recordedCount: this.recorded.length };
  }

  restore({ takenAt, items, recordedCount }: Snapshot): void {
    for (const { id } of this.recorded.splice(recordedCount)) this.takenBack.add(id);
    this.items = new Map(items);
    this.index = new Map(
      [...items].filter((entry): entry is [string, OperationItem] => entry[0] !== 'PROJECT'),
    );
    this.delayed = [];
    this.hit('table restored');
    this.heard({
      kind: 'restore',
      items: new Map([...items].map(([key, item]) => [keyOf(key), heardItem(item)])),
    });
    this.say(`the table is that of ${takenAt} again`);
  }

  /** Returns for each entry whether the bus has taken it. A derived event names the operation that it follows. */
  put(
    events: readonly BusEvent[],
    follows?: { readonly id: string; readonly sequence: number },
  ): readonly boolean[] {
    const call = this.call();
    const hear = (taken: readonly boolean[], isAnswered: boolean) =>
      this.heard({
        ...call,
        kind: 'put',
        entries: events.map((event, place) => ({
          id: event.id,
          body: JSON.stringify(event),
          isTaken: isAnswered && taken[place] === true,
          ...(follows && { follows: { key: keyOf(follows.id), sequence: follows.sequence } }),
        })),
      });
    if (this.chance(0.05)) {
      hear([], false);
      throw new Refusal('throttled');
    }
    const taken = events.map((event) => {
      if (this.chance(0.1)) {
        this.hit('entry failed');
        return false;
      }
      this.delivered.push(event);
      return true;
    });
    const isLost = this.chance(0.05);
    hear(taken, !isLost);
    if (isLost) {
      this.hit('reply of the bus lost');
      throw new Refusal('reply lost');
    }
    return taken;
  }
}

const PROJECT = 'PROJECT';
const keyOf = (id: string) => (id === PROJECT ? id : `${PROJECT}/${id}`);
const textOf = (cursor: number | null) => (cursor === null ? undefined : String(cursor));

function heardItem(item: Item): HeardItem {
  if ('since' in item) {
    const { since, bound, resume } = item;
    const point = resume && { cursor: String(resume.cursor), head: resume.head ?? undefined };
    return { reach: { since, bound: bound ?? undefined, resume: point ?? undefined } };
  }
  const { sequence, published, derived, outbox, work, ...state } = item;
  return {
    state: { ...state, isWork: work },
    journal: {
      sequence,
      published,
      derived,
      outbox: outbox.map(({ id, sequence: place = 0 }) => ({ id, sequence: place })),
    },
  };
}

export function stateOf({ states }: Operation, at: number = Number.POSITIVE_INFINITY): State {
  const found = states.findLast((state) => state.at <= at) ?? states[0];
  if (found === undefined) throw new Error('An operation has a state');
  return found;
}

function rowOf(operation: Operation, at: number): Row {
  const { id, createdAt, place } = operation;
  const { status, failures, updatedAt } = stateOf(operation, at);
  return { id, createdAt, place, status, failures, updatedAt };
}
