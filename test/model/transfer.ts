/**
 * Models a project that accounts of one bridge can see, one after the other or for good: which of them tells what. It adds to
 * `protocol.ts` only what further accounts bring. Each poll reads the whole list, because a bound changes nothing here.
 */

/** One tick is some ten seconds. */
const LAG = 4;
const CERTAIN = 6;
const HOLD = 50;
const DECIDED_BY = 150;
const READING = 90;
const TICKS = 700;

/** Without one of these rules, a promise is broken in some schedule. */
export const TRANSFER_RULES = [
  'who lists a project that another account has waits until that one has decided',
  'a good reading is an answer when it was requested a lag after the wish',
  'who has found a project gone waits for the lists of others',
  'a closing names the wish that it has read',
  'the latest of all transfers says who had the project last',
  'what comes back to the account that had it last is not taken over',
  'who takes over closes the record from which it takes',
  'the number of who has it again by itself exceeds the marks',
  'what has moved keeps its first sight',
  'a record is marked before it goes on elsewhere',
  'a mark names the state that goes on',
  'nobody writes a marked record',
  'a row without a record is marked while a reading is good',
  'a mark gives way only to a later transfer',
  'a wish that nobody answers ends',
] as const;

export type TransferRule = (typeof TRANSFER_RULES)[number];

const NAMES = ['A', 'B', 'C'] as const;
type Name = (typeof NAMES)[number];

/**
 * `hopped`: it moves to B, to C and to B again. `away`: after its move, B cannot see it for a while. `alone`: it comes back to A, and B is no longer watched.
 */
type Fate = 'moved' | 'shared' | 'returned' | 'deleted' | 'hopped' | 'away' | 'alone';

/** The account can see the project from one time on until another. */
interface Stay {
  readonly account: Name;
  readonly from: number;
  readonly until: number;
}

interface Row {
  readonly id: string;
  readonly state: number;
}

interface Project {
  readonly isVisible: boolean;
  readonly since: number;
  readonly wanted?: { readonly by: Name; readonly at: number; readonly isShared: boolean } | undefined;
  readonly movedTo?: Name | undefined;
  /** The transfer with this number took the project away. */
  readonly movedBy?: number | undefined;
  readonly cameFrom?: CameFrom | undefined;
}

interface CameFrom {
  /** The latest account stands first. */
  readonly accounts: readonly Name[];
  readonly at: number;
  readonly number: number;
}

interface Record {
  /** A mark alone has no state. */
  readonly state: number | undefined;
  readonly sequence: number;
  /** The transfer with this number took the operation away. */
  readonly movedBy?: number | undefined;
}

interface Told {
  readonly account: Name;
  readonly id: string;
  readonly sequence: number;
  readonly state: number;
}

export interface TransferSchedule {
  readonly seed: number;
  readonly without?: TransferRule | undefined;
  readonly fate?: Fate | undefined;
}

type Steps<T = void> = Generator<void, T>;

interface Absence {
  readonly at: number;
  readonly count: number;
}

interface Process {
  readonly account: Name;
  absence: Absence | undefined;
  steps: Steps | undefined;
  pausedFor: number;
  /** It neither crashes nor pauses, so that the list of its account is read within the time that others wait for. */
  readonly isSteady: boolean;
}

const END = 3;
const NEVER = Number.POSITIVE_INFINITY;

const FATES: readonly Fate[] = [
  ...(['moved', 'moved', 'moved', 'shared', 'shared', 'returned', 'deleted'] as const),
  ...(['hopped', 'hopped', 'away', 'alone'] as const),
];

function staysOf(fate: Fate, movesAt: number, gap: number): readonly Stay[] {
  const at = movesAt + gap;
  const chain = (...stays: readonly (readonly [Name, from: number, until: number])[]): readonly Stay[] =>
    stays.map(([account, from, until]) => ({ account, from, until }));
  switch (fate) {
    case 'moved':
      return chain(['A', 0, movesAt], ['B', at, NEVER]);
    case 'shared':
      return chain(['A', 0, NEVER], ['B', movesAt, NEVER]);
    case 'deleted':
      return chain(['A', 0, movesAt]);
    case 'returned':
    case 'alone':
      return chain(['A', 0, movesAt], ['B', at, movesAt + 250], ['A', movesAt + 250, NEVER]);
    case 'hopped':
      return chain(['A', 0, movesAt], ['B', at, at + 120], ['C', at + 120, at + 250], ['B', at + 250, NEVER]);
    case 'away':
      return chain(['A', 0, movesAt], ['B', at, at + 120], ['B', at + 240, NEVER]);
  }
}

function seeded(seed: number): () => number {
  let state = Math.imul(seed, 2_654_435_761) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

class TransferWorld {
  readonly random: () => number;
  readonly fate: Fate;
  /** Nobody polls the first account from the transfer on. */
  readonly isPaused: boolean;
  readonly violations: string[] = [];
  readonly told: Told[] = [];
  readonly news: string[] = [];
  readonly projects = new Map<Name, Project>([['A', { isVisible: true, since: 0 }]]);
  readonly records = new Map<string, Record>();
  readonly operations: { readonly id: string; readonly bornAt: number; readonly changes: number[] }[] = [];
  now = 0;
  isWild = true;
  readonly movesAt: number;
  /** For so long after its first transfer, no list shows the project. */
  readonly gap: number;
  readonly stays: readonly Stay[];

  constructor({ seed, fate }: TransferSchedule) {
    this.random = seeded(seed);
    this.fate = fate ?? FATES[Math.floor(this.random() * FATES.length)] ?? 'moved';
    this.isPaused = this.fate === 'moved' && this.random() < 0.1;
    this.movesAt = 40 + Math.floor(this.random() * 40);
    const hasGap = this.fate === 'alone' || (['moved', 'hopped'].includes(this.fate) && this.random() < 0.4);
    this.gap = hasGap ? 10 + Math.floor(this.random() * (HOLD + 10)) : 0;
    this.stays = staysOf(this.fate, this.movesAt, this.gap);
  }

  tick(): void {
    this.now += 1;
    if (!this.isWild) return;
    const { random, now } = this;
    if (this.operations.length < 9 && random() < 0.06)
      this.operations.push({ id: `o${this.operations.length}`, bornAt: now, changes: [] });
    const isBusy = this.stays.some(({ until }) => now > until - 15 && now < until);
    for (const { changes } of this.operations)
      if (changes.length < END && random() < (isBusy ? 0.12 : 0.03)) changes.push(now);
  }

  private sees(account: Name, at: number): boolean {
    return this.stays.some((stay) => stay.account === account && at >= stay.from && at < stay.until);
  }

  isWatched(account: Name): boolean {
    return !(account === 'B' && this.fate === 'alone' && this.now >= this.movesAt + 250);
  }

  isPolled(account: Name): boolean {
    return this.isWatched(account) && !(account === 'A' && this.isPaused && this.now > this.movesAt);
  }

  /** Each answer comes from some replica. */
  private answerAt(): number {
    return this.isWild && this.random() < 0.3 ? this.now - Math.floor(this.random() * LAG) : this.now;
  }

  isListed(account: Name): boolean {
    return this.sees(account, this.answerAt());
  }

  /** Returns undefined for a 404. */
  rows(account: Name): readonly Row[] | undefined {
    const at = this.answerAt();
    if (!this.sees(account, at)) return undefined;
    return this.operations
      .filter(({ bornAt }) => bornAt <= at)
      .map(({ id, changes }) => ({ id, state: changes.filter((change) => change <= at).length }));
  }

  bornAt(id: string): number {
    return this.operations.find((one) => one.id === id)?.bornAt ?? 0;
  }

  endedAt(id: string): number {
    return this.operations.find((one) => one.id === id)?.changes[END - 1] ?? Number.POSITIVE_INFINITY;
  }
}

const keyOf = (account: Name, id: string) => `${account} ${id}`;
const numberOf = (project: Project | undefined) => project?.cameFrom?.number ?? 0;

interface Run {
  readonly world: TransferWorld;
  readonly process: Process;
  readonly without: TransferRule | undefined;
}

function* poll(run: Run): Steps {
  const { world, process } = run;
  const { account } = process;
  const project = world.projects.get(account);
  yield;
  if (project?.isVisible !== true) {
    process.absence = undefined;
    yield* arrive(run, project);
    return;
  }
  const requestedAt = world.now;
  const rows = world.rows(account);
  yield;
  if (rows === undefined) {
    yield* miss(run);
    return;
  }
  process.absence = undefined;
  yield* answer(run, project, requestedAt);
  for (const row of rows) yield* record(run, project, { row, requestedAt });
}

/** The account can see the project: says that the wish of another one is for a project that both share. */
function* answer({ world, process, without }: Run, { wanted }: Project, requestedAt: number): Steps {
  if (wanted === undefined || wanted.isShared) return;
  const isLater = requestedAt - wanted.at > LAG;
  if (!isLater && without !== 'a good reading is an answer when it was requested a lag after the wish')
    return;
  yield;
  const stored = world.projects.get(process.account);
  if (stored?.isVisible === true && stored.wanted === wanted)
    world.projects.set(process.account, { ...stored, wanted: { ...wanted, isShared: true } });
}

/** The project answers 404. When there is evidence enough that it is gone, the account closes its record. */
function* miss({ world, process, without }: Run): Steps {
  const { account } = process;
  const { at, count } = process.absence ?? { at: world.now, count: 0 };
  process.absence = { at, count: count + 1 };
  const project = world.projects.get(account);
  const { wanted } = project ?? {};
  const mustHold =
    (wanted === undefined || wanted.isShared) &&
    without !== 'who has found a project gone waits for the lists of others';
  if (count < 2 || world.now - at < (mustHold ? HOLD : CERTAIN)) return;
  yield;
  const stored = world.projects.get(account);
  if (project === undefined || stored?.isVisible !== true) return;
  const names = without === 'a closing names the wish that it has read' || stored.wanted === wanted;
  if (!names) return;
  const movedTo = wanted?.isShared === false ? wanted.by : undefined;
  world.projects.set(account, { ...stored, isVisible: false, movedTo });
  process.absence = undefined;
  if (movedTo !== undefined) return;
  if (stored.wanted?.isShared === false)
    world.violations.push('published as unreachable although it was wanted');
  world.news.push(`unreachable ${account}`);
}

/** The account's list may show a project that is not among its own: it is new to the bridge, moved here, or shared. */
function* arrive({ world, process, without }: Run, own: Project | undefined): Steps {
  const { account } = process;
  const { now } = world;
  if (!world.isListed(account)) return;
  yield;
  const others = NAMES.filter((name) => name !== account && world.isWatched(name)).flatMap((name) => {
    const project = world.projects.get(name);
    return project === undefined ? [] : { name, project };
  });
  const { kind, from } = choose({ account, own }, others, { now: world.now, without });
  yield;
  if (kind === 'wait') return;
  const isSame = from !== undefined && world.projects.get(from.name) === from.project;
  if (kind === 'ask') {
    const wanted = { by: account, at: world.now, isShared: false };
    if (isSame) world.projects.set(from.name, { ...from.project, wanted });
    return;
  }
  if (kind === 'take' && from !== undefined) {
    const cameFrom = takenFrom({ account, own }, from, world.now);
    if (without !== 'who takes over closes the record from which it takes') {
      if (!isSame) return;
      world.projects.set(from.name, { ...from.project, movedTo: account, movedBy: cameFrom.number });
      yield;
    }
    if (world.projects.get(account) !== own) return;
    const keeps = without !== 'what has moved keeps its first sight';
    const since = keeps ? (own?.since ?? from.project.since) : now;
    world.projects.set(account, { movedBy: own?.movedBy, isVisible: true, since, cameFrom });
    world.news.push(`transferred ${account}`);
    return;
  }
  if (world.projects.get(account) !== own) return;
  const exceeds = without !== 'the number of who has it again by itself exceeds the marks';
  const number = exceeds ? Math.max(numberOf(own), own?.movedBy ?? 0) + BEYOND_MARKS : numberOf(own) + 1;
  world.projects.set(account, {
    ...own,
    isVisible: true,
    since: own?.since ?? now,
    movedTo: undefined,
    ...(own?.movedTo !== undefined && { cameFrom: { accounts: [], at: world.now, number } }),
  });
  world.news.push(`discovered ${account}`);
}

const BEYOND_MARKS = 1_000;

function takenFrom({ account, own }: Lister, { name, project }: Elsewhere, at: number): CameFrom {
  const numbers = [project, own].flatMap((each) => [numberOf(each), each?.movedBy ?? 0]);
  const accounts = [name, ...(project.cameFrom?.accounts ?? [])].filter((each) => each !== account);
  return { accounts: [...new Set(accounts)], at, number: Math.max(...numbers) + 1 };
}

interface Lister {
  readonly account: Name;
  readonly own: Project | undefined;
}

interface Elsewhere {
  readonly name: Name;
  readonly project: Project;
}

interface Choice {
  readonly kind: 'first sight' | 'take' | 'wait' | 'ask';
  readonly from?: Elsewhere | undefined;
}

interface Choosing {
  readonly now: number;
  readonly without: TransferRule | undefined;
}

function choose({ account, own }: Lister, others: readonly Elsewhere[], choosing: Choosing): Choice {
  const { without } = choosing;
  const waits = without !== 'who lists a project that another account has waits until that one has decided';
  const owner = others.find(({ project }) => project.isVisible);
  if (owner !== undefined && waits) return { kind: askOrWait(account, owner.project, choosing), from: owner };
  const isForUs = ({ project }: Elsewhere) => Number(project.movedTo === account);
  const goesByNumber = without !== 'the latest of all transfers says who had the project last';
  const number = ({ project }: Elsewhere) => (goesByNumber ? numberOf(project) : 0);
  const [from] = others.toSorted((a, b) => number(b) - number(a) || isForUs(b) - isForUs(a));
  if (from === undefined) return { kind: 'first sight' };
  const isLater = numberOf(own) - numberOf(from.project) - isForUs(from) >= 0;
  const wasLast = own !== undefined && own.movedTo === undefined && isLater;
  const isOurs = wasLast && without !== 'what comes back to the account that had it last is not taken over';
  return { kind: isOurs ? 'first sight' : 'take', from };
}

function askOrWait(account: Name, { wanted }: Project, { now, without }: Choosing): Choice['kind'] {
  const isOpen = wanted !== undefined && !wanted.isShared && now - wanted.at <= DECIDED_BY;
  if (wanted?.by !== account) return isOpen ? 'wait' : 'ask';
  if (now - wanted.at > 2 * DECIDED_BY) return 'ask';
  if (wanted.isShared) return 'first sight';
  if (without === 'a wish that nobody answers ends') return 'wait';
  return now - wanted.at > DECIDED_BY ? 'first sight' : 'wait';
}

interface Reading {
  readonly row: Row;
  readonly requestedAt: number;
}

function* record(run: Run, project: Project, first: Reading): Steps {
  const { world, process } = run;
  const { account } = process;
  let { row, requestedAt } = first;
  for (let tried = 0; tried < 4; tried++) {
    yield;
    const key = keyOf(account, row.id);
    let item = world.records.get(key);
    if (item?.movedBy !== undefined || (item === undefined && project.cameFrom !== undefined)) {
      const moved = yield* adopt(run, project, { id: row.id, item });
      if (moved === 'again') continue;
      item = moved;
    }
    if (item !== undefined && item.state !== row.state) {
      // The store was read after the upstream.
      requestedAt = world.now;
      const fresh = world.rows(account)?.find(({ id }) => id === row.id);
      if (fresh === undefined) return;
      row = fresh;
    }
    if (item?.state === row.state || (item?.state ?? -1) > row.state) return;
    if (item === undefined && world.now - requestedAt > READING) return;
    if (item === undefined && world.endedAt(row.id) < project.since) return;
    yield;
    if (write(run, key, item, row)) return;
  }
}

function write({ world, process, without }: Run, key: string, item: Record | undefined, row: Row): boolean {
  const stored = world.records.get(key);
  const isFree = stored?.movedBy === undefined || without === 'nobody writes a marked record';
  if (stored?.sequence !== item?.sequence || (item === undefined && stored !== undefined) || !isFree)
    return false;
  const sequence = (item?.sequence ?? 0) + 1;
  world.records.set(key, { ...stored, state: row.state, sequence });
  world.told.push({ account: process.account, id: row.id, sequence, state: row.state });
  return true;
}

interface Lack {
  readonly id: string;
  /** The account's own record, which is marked, or none. */
  readonly item: Record | undefined;
}

/** Lets the record of another account go on in this one. Returns what is stored here then. */
function* adopt(run: Run, { cameFrom }: Project, { id, item }: Lack): Steps<Record | undefined | 'again'> {
  const { world, process, without } = run;
  const key = keyOf(process.account, id);
  const isLater = (cameFrom?.number ?? 0) > (item?.movedBy ?? 0);
  if (cameFrom === undefined || (!isLater && without !== 'a mark gives way only to a later transfer'))
    return 'again';
  let base: Record | undefined;
  for (const account of cameFrom.accounts) {
    const marked = yield* mark(run, { account, at: cameFrom.at, number: cameFrom.number }, { id, item });
    if (marked === 'again') return 'again';
    if (marked?.state !== undefined) base = marked;
    if (base !== undefined) break;
  }
  base ??= item;
  if (base === undefined) return undefined;
  yield;
  if (world.records.get(key) !== item) return 'again';
  if (base.state === undefined) {
    // The mark alone has expired.
    world.records.delete(key);
    return undefined;
  }
  const own = { state: base.state, sequence: base.sequence };
  world.records.set(key, own);
  return own;
}

/** Marks the record in the account that the project came from. Returns what was marked, or undefined when there is nothing. */
function* mark(
  { world, without }: Run,
  { account, at, number }: { readonly account: Name; readonly at: number; readonly number: number },
  { id, item }: Lack,
): Steps<Record | undefined | 'again'> {
  const from = keyOf(account, id);
  const there = world.records.get(from);
  if (there === undefined) {
    const isNeeded = item !== undefined || world.now - at <= READING;
    if (!isNeeded || without === 'a row without a record is marked while a reading is good') return undefined;
    yield;
    if (world.records.has(from)) return 'again';
    world.records.set(from, { state: undefined, sequence: 0, movedBy: number });
    return undefined;
  }
  if (there.movedBy !== undefined && there.movedBy > number) return 'again';
  if (there.movedBy === number || without === 'a record is marked before it goes on elsewhere') return there;
  yield;
  const stored = world.records.get(from);
  if (stored === undefined) return 'again';
  if (stored !== there && without !== 'a mark names the state that goes on') return 'again';
  world.records.set(from, { ...stored, movedBy: number });
  return there;
}

/** Plays one schedule of six processes, two of each account, and returns what was violated. */
export function playTransfer(schedule: TransferSchedule): TransferWorld {
  const { without } = schedule;
  const world = new TransferWorld(schedule);
  const fresh = (account: Name, isSteady: boolean): Process => ({
    account,
    absence: undefined,
    steps: undefined,
    pausedFor: 0,
    isSteady,
  });
  const processes = [...NAMES, ...NAMES].map((name, place) => fresh(name, place >= NAMES.length));
  for (let tick = 0; tick < TICKS; tick++) {
    world.isWild = tick < TICKS - 250;
    world.tick();
    for (const [place, process] of processes.entries()) {
      if (!world.isPolled(process.account)) continue;
      if (!world.isWild && tick % 12 !== 2 * place) continue;
      for (let step = 0; step < (world.isWild ? 2 : 150); step++)
        if (!advance(world, process, without)) processes[place] = fresh(process.account, false);
    }
  }
  judge(world);
  return world;
}

/** Returns false when the process crashes. */
function advance(world: TransferWorld, process: Process, without: TransferRule | undefined): boolean {
  const { random, isWild } = world;
  if (process.pausedFor > 0 && isWild) {
    process.pausedFor -= 1;
    return true;
  }
  if (process.steps === undefined) {
    if (!isWild || random() < 0.3) process.steps = poll({ world, process, without });
    return true;
  }
  const isShaken = isWild && !process.isSteady;
  if (isShaken && random() < 0.006) return false;
  if (isShaken && random() < 0.05) process.pausedFor = 4 + Math.floor(random() * 40) * 2;
  if (process.steps.next().done === true) process.steps = undefined;
  return true;
}

function judge(world: TransferWorld): void {
  const { fate, gap, isPaused, violations } = world;
  const expected: Readonly<{ [Each in Fate]: readonly string[] }> = {
    moved: isPaused ? ['discovered B'] : ['transferred B'],
    shared: ['discovered B'],
    returned: ['transferred B', 'transferred A'],
    deleted: ['unreachable A'],
    hopped: ['transferred B', 'transferred C', 'transferred B'],
    away: ['transferred B', 'unreachable B', 'discovered B'],
    alone: ['transferred B', 'discovered A'],
  };
  // In so long a gap the account that had the project may say that it is gone.
  const isGapLong = gap >= HOLD - 15 && fate !== 'deleted';
  const news = world.news.filter((one) => !(isGapLong && one === 'unreachable A'));
  if (news.join(', ') !== expected[fate].join(', ')) violations.push(`news of ${fate}: ${news.join(', ')}`);
  if (isPaused) return;
  for (const { id } of world.operations) {
    if (fate === 'shared') for (const account of NAMES.slice(0, 2)) judgeChain(world, id, account);
    else if (fate === 'alone') judgeChain(world, id, 'A');
    else judgeChain(world, id, undefined);
  }
}

/** Judges what was told of an operation under one account, or under all of them together. */
function judgeChain(world: TransferWorld, id: string, account: Name | undefined): void {
  const { violations, fate } = world;
  const chain = world.told
    .filter((one) => one.id === id && (account === undefined || one.account === account))
    .toSorted((a, b) => a.sequence - b.sequence);
  for (const [place, { sequence, state }] of chain.entries()) {
    if (sequence !== place + 1) violations.push(`told twice, or with a gap: ${id}`);
    if (state <= (chain[place - 1]?.state ?? -1)) violations.push(`told again: ${id}`);
  }
  const truth = world.operations.find((one) => one.id === id)?.changes.length;
  const isHistory = account === 'B' && world.endedAt(id) < (world.projects.get('B')?.since ?? 0);
  if (fate === 'deleted' || isHistory) return;
  if (chain.at(-1)?.state !== truth) violations.push(`lost: the last state of ${id}`);
}
