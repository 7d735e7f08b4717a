/**
 * Says of one run, step by step, whether the protocol allows what its processes did. A step is what crossed a port: reads and writes of
 * items, answers of the upstream, and calls of the bus, in the order in which they took effect. Whatever made the steps is not known here.
 */

/** A time is a number, in whatever unit the run counts. */
export interface Law {
  readonly overlap: number;
  /** No replica lags by more than this. */
  readonly lag: number;
  /** A reading is good for this long. */
  readonly reading: number;
  /** An unknown row that is older than this is history. */
  readonly history: number;
  /** A record stays for this long after its acknowledgement. */
  readonly retention: number;
  /** When so many events of an operation wait for the bus, its next change waits, too. */
  readonly pendingMax: number;
  /** When it is true, what had ended before the first sight is news, too. */
  readonly isHistoryNews?: boolean;
}

/** An item as the protocol sees it. It is of a project, of an operation, or of something else that has events. */
export interface Item {
  readonly reach?: Reach | undefined;
  readonly state?: State | undefined;
  readonly journal?: Journal | undefined;
}

export interface Reach {
  readonly since?: number | undefined;
  readonly bound?: number | undefined;
  readonly resume?: { readonly cursor: string; readonly head: number | undefined } | undefined;
}

interface Reading {
  readonly status: string;
  readonly failures: number;
  /** It is undefined when no time can be read from the text. */
  readonly createdAt: number | undefined;
  readonly updatedAt: number | undefined;
}

export interface State extends Reading {
  readonly observedAt: number;
  /** The operation has its place in the work index. */
  readonly isWork: boolean;
  readonly isWatchEnded?: boolean;
  /** Another version has written it, and this one passes it over. */
  readonly isUnreadable?: boolean;
  readonly expiresAt?: number | undefined;
}

export interface Journal {
  readonly sequence: number;
  readonly published: number;
  readonly derived?: number | undefined;
  /** It is undefined when the item cannot be read at present. */
  readonly outbox?: readonly StoredEvent[] | undefined;
}

interface StoredEvent {
  readonly sequence: number;
  readonly id: string;
  /** The event as it is to be sent. It is missing where the id says it all. */
  readonly body?: string;
}

export interface Row extends Reading {
  readonly key: string;
  /** Nothing can ever be recorded of it. */
  readonly isPassedOver?: boolean;
}

/** Every call of a process has these fields. */
interface Call {
  readonly process: string;
  /** The call left when this many steps had taken effect. */
  readonly sentAt: number;
  /** The process's clock showed this when the call left. */
  readonly clock: number;
}

export type Step =
  | { readonly kind: 'restore'; readonly items: ReadonlyMap<string, Item> }
  | { readonly kind: 'expire'; readonly key: string }
  | { readonly kind: 'end'; readonly process: string; readonly why: string }
  | (Call & { readonly kind: 'query'; readonly keys: readonly string[] })
  | (Call & { readonly kind: 'read'; readonly key: string; readonly item: Item | undefined })
  | (Call & List)
  /** Single operations, and the operations that a command has started. */
  | (Call & Get)
  | (Call & Write)
  | (Call & Put);

interface Get {
  readonly kind: 'get';
  readonly rows: readonly Row[];
  /** The upstream does not show this one any more. */
  readonly missing?: string | undefined;
  readonly date: number | undefined;
}

interface List {
  readonly kind: 'list';
  readonly project: string;
  readonly cursor: string | undefined;
  readonly limit: number | undefined;
  /** Rows of which nothing can be read are missing from `rows` and count here. */
  readonly rowCount: number;
  readonly rows: readonly Row[];
  readonly next: string | undefined;
  /** The answer's own clock. */
  readonly date: number | undefined;
}

interface Write {
  readonly kind: 'write';
  readonly key: string;
  /** The caller does not know of an unknown write whether it was applied. `isApplied` does. */
  readonly outcome: 'applied' | 'refused' | 'unknown';
  readonly isApplied: boolean;
  /** A write of a state names the sequence that it follows: 0 when there is none, and undefined when it names nothing. */
  readonly state?: { readonly follows: number | undefined } | undefined;
  /** The table holds this afterwards. */
  readonly item: Item | undefined;
  /** This event is kept apart, because the bus refuses it for good. */
  readonly parked?: string | undefined;
  /** Records expire by this clock. Without it they expire by that of the process. */
  readonly tableClock?: number;
}

interface Put {
  readonly kind: 'put';
  readonly entries: readonly {
    readonly id: string;
    readonly body: string;
    readonly isTaken: boolean;
    /** A derived event that no item holds names the operation that it follows. */
    readonly follows?: { readonly key: string; readonly sequence: number };
  }[];
  /** When it is false, the process does not know what became of the entries. */
  readonly isAnswered: boolean;
}

export interface Rejection {
  readonly step: number;
  readonly rule: string;
  readonly detail: string;
}

interface Seen extends Call {
  readonly row: Row;
  readonly earlier: number;
}

/** Pages of one list that connect, from its head or from a resume point downwards. */
interface Thread {
  readonly head: number | undefined;
  /** A thread from a resume point counts as long as the bound was lowered this often. One that begins elsewhere never counts. */
  readonly begins: 'at the head' | 'elsewhere' | number;
  /** These rows of the reading before count, too. */
  readonly before: readonly Seen[];
  readonly pages: Page[];
  readonly keys: Set<string>;
}

interface Page {
  readonly sentAt: number;
  readonly list: List;
  readonly rows: readonly Seen[];
  readonly bringsNothing: boolean;
}

interface Memory {
  /** At which step the process has known each sequence of an item first. */
  readonly known: Map<string, Map<number, number>>;
  /** The latest reading of each content. */
  readonly readings: Map<string, Map<string, Seen>>;
  readonly projects: Map<string, { readonly reach: Reach | undefined; readonly loweredCount: number }>;
  readonly threads: Map<string, Thread[]>;
  /** The bus has taken these events, and has said so. */
  readonly taken: Set<string>;
  /** The upstream has not shown these operations when it was asked for each, in the call that left at this step. */
  readonly missing: Map<string, number>;
  /** These items could not be read when they were read last. */
  readonly unreadable: Set<string>;
  /** The latest earlier clock of all answers. */
  earlier: number;
}

const THREADS_KEPT = 12;
const TERMINAL: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);
/** A failure begins the steps of its count anew. */
const RANKS = new Map(
  ['failed', 'scheduling', 'running', 'cancelling'].map((status, rank) => [status, rank] as const),
);
const LAST_RANK = RANKS.size;

const rankOf = (status: string) => (TERMINAL.has(status) ? LAST_RANK : RANKS.get(status));
const contentOf = ({ status, failures, updatedAt }: Reading) => `${status} ${failures} ${updatedAt}`;
const isSame = (a: Reading, b: Reading) => a.status === b.status && a.failures === b.failures;
const at = (time: number | undefined) => time ?? Number.NEGATIVE_INFINITY;
/** The item of this key holds the first sight of all projects that have none of their own. */
const ACCOUNT = 'ACCOUNT';
/** The key of an item begins with that of its project. */
const projectOf = (key: string) => key.split('/', 1)[0] ?? key;

/** Returns the value of a key, which is made when there is none. */
function keptIn<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

/** Returns the newest `created_at` that is not later than the earlier clock. */
function headOf(rows: readonly Seen[]): number | undefined {
  const newest = Math.max(
    ...rows.map(({ row, earlier }) => (at(row.createdAt) <= earlier ? at(row.createdAt) : at(undefined))),
  );
  return Number.isFinite(newest) ? newest : undefined;
}

/** Says whether a reading shows what an operation was before the recorded state. */
function goesBack(row: Reading, stored: Reading): boolean {
  if (row.updatedAt !== undefined && stored.updatedAt !== undefined && row.updatedAt < stored.updatedAt)
    return true;
  if (row.failures !== stored.failures) return row.failures < stored.failures;
  const [rank, storedRank] = [rankOf(row.status), rankOf(stored.status)];
  return rank !== undefined && storedRank !== undefined && rank < storedRank;
}

interface Acceptor {
  readonly take: (step: Step) => void;
  /** Says what is left undone where nothing fails any more and everything had its time. */
  readonly finish: () => void;
  readonly stepCount: number;
  readonly rejections: readonly Rejection[];
}

export function createAcceptor(law: Law): Acceptor {
  let stepCount = 0;
  const rejections: Rejection[] = [];
  let items = new Map<string, Item>();
  const memories = new Map<string, Memory>();
  const loweredCounts = new Map<string, number>();
  /** Every event that was ever stored, and the place of each in its item. */
  const storedIds = new Set<string>();
  const placed = new Map<string, Map<number, string>>();
  const bodies = new Map<string, string>();
  const expiredAt = new Map<string, number>();
  let storedStates = new Map<string, Set<string>>();
  const parked = new Set<string>();

  const reject = (rule: string, detail: string) => void rejections.push({ step: stepCount, rule, detail });

  return {
    rejections,
    get stepCount() {
      return stepCount;
    },
    take(step) {
      takeStep(step);
      stepCount += 1;
    },
    finish() {
      for (const [key, { journal, reach }] of items) {
        const { sequence = 0, published = 0 } = journal ?? {};
        if (published < sequence)
          reject('P3 what is recorded is published', `${key} ${published} of ${sequence}`);
        if (reach !== undefined && !isWalkOver(key, reach))
          reject('8 a walk arrives, or its resume point is stored', key);
      }
    },
  };

  /** Says whether the last walk has arrived, and has left a bound if there was anything to bound, or a resume point. */
  function isWalkOver(project: string, { bound, resume }: Reach): boolean {
    const all = [...memories.values()].flatMap(({ threads }) => threads.get(project) ?? []);
    const last = all.toSorted((a, b) => sentAtOf(a) - sentAtOf(b)).at(-1);
    if (
      last === undefined ||
      last.pages.some(({ list }) => list.next !== undefined && list.next === resume?.cursor)
    )
      return true;
    if (bound === undefined && last.head !== undefined) return false;
    const stop = at(bound) - law.overlap;
    const end = last.pages.findIndex((page) => isEnd(page, stop));
    return end >= 0 && unrecorded(last, end, { stop, project }) === undefined;
  }

  function sentAtOf({ pages }: Thread): number {
    return pages.at(-1)?.sentAt ?? 0;
  }

  function memoryOf(process: string): Memory {
    return keptIn(memories, process, () => ({
      known: new Map(),
      readings: new Map(),
      projects: new Map(),
      threads: new Map(),
      taken: new Set(),
      missing: new Map(),
      unreadable: new Set(),
      earlier: Number.NEGATIVE_INFINITY,
    }));
  }

  function takeStep(step: Step): void {
    if (step.kind === 'read') takeRead(step);
    else if (step.kind === 'list') takeList(step);
    else if (step.kind === 'get') takeSingle(step);
    else if (step.kind === 'write') takeWrite(step);
    else if (step.kind === 'put') takePut(step);
    else if (step.kind === 'end') memories.delete(step.process);
    else if (step.kind === 'expire') {
      items.delete(step.key);
      storedStates.delete(step.key);
      expiredAt.set(step.key, stepCount);
    } else if (step.kind === 'restore') {
      items = new Map(step.items);
      storedStates = new Map();
      placed.clear();
      for (const [key, item] of items) note(key, item);
      // Nobody goes on with what it knew of the table. What the upstream has shown stays true.
      for (const memory of memories.values()) memory.known.clear();
    }
  }

  function takeSingle(step: Call & Get): void {
    const { process, rows, missing, date, sentAt, clock } = step;
    const memory = memoryOf(process);
    for (const row of rows) noteReading(row, step, date);
    if (missing !== undefined) memory.missing.set(missing, sentAt);
    if (date !== undefined) memory.earlier = Math.max(memory.earlier, Math.min(date, clock));
  }

  function takeRead({ process, key, item }: Extract<Step, { kind: 'read' }>): void {
    const memory = memoryOf(process);
    if (item?.reach !== undefined || items.get(key)?.reach !== undefined)
      memory.projects.set(key, { reach: item?.reach, loweredCount: loweredCounts.get(key) ?? 0 });
    memory.unreadable.delete(key);
    if (item?.state?.isUnreadable === true) memory.unreadable.add(key);
    const { sequence = 0, published = 0 } = item?.journal ?? {};
    knows(memory, key, sequence);
    // Somebody else has acknowledged these.
    for (const [place, id] of placed.get(key) ?? []) if (place <= published) memory.taken.add(id);
  }

  function knows({ known }: Memory, key: string, sequence: number): void {
    keptIn(
      keptIn(known, key, () => new Map<number, number>()),
      sequence,
      () => stepCount,
    );
  }

  function noteReading(row: Row, { process, sentAt, clock }: Call, date: number | undefined): Seen {
    const seen = { process, sentAt, clock, row, earlier: Math.min(clock, date ?? clock) };
    keptIn(memoryOf(process).readings, row.key, () => new Map<string, Seen>()).set(contentOf(row), seen);
    return seen;
  }

  function takeList(step: Call & List): void {
    const { process, project, cursor, date, clock } = step;
    const memory = memoryOf(process);
    if (date !== undefined) memory.earlier = Math.max(memory.earlier, Math.min(date, clock));
    const rows = step.rows.map((row) => noteReading(row, step, date));
    const threads = keptIn(memory.threads, project, (): Thread[] => []);
    const begun = memory.projects.get(project);
    // A cursor may be the end of several threads, and the resume point as well.
    const going = threads.filter(({ pages }) => cursor !== undefined && pages.at(-1)?.list.next === cursor);
    if (going.length === 0 || begun?.reach?.resume?.cursor === cursor) {
      const begins = cursor === undefined ? atHead(rows, threads.at(-1)) : [atCursor(rows, cursor, begun)];
      threads.push(...begins);
      going.push(...begins);
    }
    for (const thread of going) {
      const bringsNothing = cursor !== undefined && step.rows.every(({ key }) => thread.keys.has(key));
      thread.pages.push({ sentAt: step.sentAt, list: step, rows, bringsNothing });
      for (const { key } of step.rows) thread.keys.add(key);
    }
    threads.splice(0, threads.length - THREADS_KEPT);
  }

  /** A head that is read again may come from a replica that lags, so the head of the reading just before it counts as well, with its rows. */
  function atHead(rows: readonly Seen[], last: Thread | undefined): readonly Thread[] {
    const again = last?.begins === 'at the head' && last.pages.length === 1 ? last.pages[0]?.rows : undefined;
    return [[], ...(again === undefined ? [] : [again])].map((before) => ({
      head: headOf([...rows, ...before]),
      begins: 'at the head',
      before,
      pages: [],
      keys: new Set(),
    }));
  }

  function atCursor(
    rows: readonly Seen[],
    cursor: string,
    begun: { readonly reach: Reach | undefined; readonly loweredCount: number } | undefined,
  ): Thread {
    const { resume } = begun?.reach ?? {};
    const pages: Page[] = [];
    if (begun === undefined || resume?.cursor !== cursor)
      return { head: undefined, begins: 'elsewhere', before: [], pages, keys: new Set() };
    return {
      head: resume.head ?? headOf(rows),
      begins: begun.loweredCount,
      before: [],
      pages,
      keys: new Set(),
    };
  }

  function takeWrite(step: Call & Write): void {
    const { process, key, outcome, isApplied, state, item, parked: apart } = step;
    const memory = memoryOf(process);
    if (apart !== undefined) parked.add(apart);
    if (!isApplied || item === undefined) return;
    const before = items.get(key);
    items.set(key, item);
    if (item.reach !== undefined) judgeReach(step, before?.reach, item.reach);
    if (item.state !== undefined && state !== undefined) judgeState(step, before, item.state, state.follows);
    if (item.journal !== undefined) judgeJournal(step, before, item);
    note(key, item);
    if (outcome !== 'applied') return;
    knows(memory, key, item.journal?.sequence ?? 0);
  }

  function note(key: string, { journal, state }: Item): void {
    if (state !== undefined)
      keptIn(storedStates, key, () => new Set<string>()).add(`${state.status} ${state.failures}`);
    for (const { sequence, id, body } of journal?.outbox ?? []) {
      if (body !== undefined) noteBody(id, body);
      keptIn(placed, key, () => new Map<number, string>()).set(sequence, id);
      storedIds.add(id);
    }
  }

  // Steps 1 and 8.

  function judgeReach(step: Call & Write, before: Reach | undefined, after: Reach): void {
    const { key, process } = step;
    const memory = memoryOf(process);
    if (after.since !== undefined && after.since !== before?.since) {
      if (before?.since !== undefined)
        reject('1 the first sight stays', `${key}: ${before.since} -> ${after.since}`);
      // A project is seen no earlier than its account, whatever an answer says.
      const ofAccount = at(items.get(ACCOUNT)?.reach?.since);
      if (after.since > Math.max(memory.earlier, key === ACCOUNT ? at(undefined) : ofAccount))
        reject('1 the first sight is by the earlier clock', `${key}: since ${after.since}`);
    }
    if (at(after.bound) < at(before?.bound)) loweredCounts.set(key, (loweredCounts.get(key) ?? 0) + 1);
    if (at(after.bound) > at(before?.bound)) {
      const faults = (memory.threads.get(key) ?? []).map((thread) =>
        boundFault(thread, key, before, after.bound ?? 0),
      );
      if (!faults.includes(undefined))
        reject(
          '8 a bound is the head of a whole walk',
          `${key}: ${after.bound}: ${faults.at(-1) ?? 'no walk'}`,
        );
    }
    const { resume } = after;
    if (resume === undefined || resume.cursor === before?.resume?.cursor) return;
    const faults = (memory.threads.get(key) ?? []).map((thread) => resumeFault(thread, key, before, resume));
    if (!faults.includes(undefined))
      reject(
        '8 a resume point ends recorded pages',
        `${key}: ${resume.cursor}: ${faults.at(-1) ?? 'no walk'}`,
      );
  }

  /** Returns why this thread does not earn the bound. */
  function boundFault(
    thread: Thread,
    key: string,
    stored: Reach | undefined,
    bound: number,
  ): string | undefined {
    const { head, pages } = thread;
    if (!counts(thread, key)) return 'it begins neither at the head nor at a resume point';
    if (head === undefined || bound > head) return `the head is ${head}`;
    const stop = at(stored?.bound) - law.overlap;
    const end = pages.findIndex((page) => isEnd(page, stop));
    if (end < 0) return `it has not come down to ${stop}`;
    return unrecorded(thread, end, { stop, project: key });
  }

  function resumeFault(
    thread: Thread,
    key: string,
    stored: Reach | undefined,
    { cursor, head }: NonNullable<Reach['resume']>,
  ): string | undefined {
    if (!counts(thread, key)) return 'it begins neither at the head nor at a resume point';
    if (at(head) > at(thread.head)) return `the head is ${thread.head}`;
    const last = thread.pages.findLastIndex(({ list }) => list.next === cursor);
    if (last < 0) return 'no page has answered this cursor';
    return unrecorded(thread, last, { stop: at(stored?.bound) - law.overlap, project: key });
  }

  function counts({ begins }: Thread, key: string): boolean {
    return begins === 'at the head' || begins === (loweredCounts.get(key) ?? 0);
  }

  /** Rule 6. How full a page is says nothing. */
  function isEnd({ list, rows, bringsNothing }: Page, stop: number): boolean {
    if (list.rowCount === 0 || list.next === undefined || bringsNothing) return true;
    const last = rows.findLast(({ row }) => row.createdAt !== undefined);
    return last !== undefined && at(last.row.createdAt) < stop;
  }

  /** Names a row of the thread, down to this page, that is in reach and not dealt with. */
  function unrecorded(
    { before, pages }: Thread,
    last: number,
    { stop, project }: { readonly stop: number; readonly project: string },
  ): string | undefined {
    const rows = [...before, ...pages.slice(0, last + 1).flatMap((page) => page.rows)];
    const missing = rows.find((seen) => at(seen.row.createdAt) >= stop && !isDealtWith(seen, project));
    return missing && `${missing.row.key} is not recorded`;
  }

  /** The row is recorded, is history, or is passed over for good. */
  function isDealtWith(seen: Seen, project: string): boolean {
    const { row, process } = seen;
    if (row.isPassedOver === true || row.createdAt === undefined) return true;
    if (isHistory(seen, project)) return true;
    const item = items.get(row.key);
    if (item?.state === undefined) return (expiredAt.get(row.key) ?? 0) > seen.sentAt;
    if (wasStored(row) || goesBack(row, item.state)) return true;
    const memory = memoryOf(process);
    const isFull =
      item.journal !== undefined && item.journal.sequence - item.journal.published >= law.pendingMax;
    if (isFull || memory.unreadable.has(row.key) || (memory.missing.get(row.key) ?? 0) > seen.sentAt)
      return true;
    const readings = [...(memory.readings.get(row.key)?.values() ?? [])];
    const { row: latest } = readings.reduce((a, b) => (b.sentAt > a.sentAt ? b : a), seen);
    return wasStored(latest) || goesBack(latest, item.state);
  }

  /** The transition key of the row stands in the item, or stood there. */
  function wasStored({ key, status, failures }: Row): boolean {
    return storedStates.get(key)?.has(`${status} ${failures}`) === true;
  }

  /** R3. */
  function isHistory({ row, earlier, process }: Seen, project: string): boolean {
    const { createdAt, updatedAt, status } = row;
    if (createdAt === undefined) return false;
    if (createdAt < earlier - law.history) return true;
    const read = memoryOf(process).projects.get(project)?.reach?.since;
    const since = items.get(project)?.reach?.since ?? read ?? items.get(ACCOUNT)?.reach?.since;
    const hasEnded = TERMINAL.has(status) && createdAt < at(since) && at(updatedAt) < at(since);
    return hasEnded && law.isHistoryNews !== true;
  }

  // Recording.

  function judgeState(
    { process, key, clock }: Call & Write,
    before: Item | undefined,
    state: State,
    follows: number | undefined,
  ): void {
    const memory = memoryOf(process);
    const sequence = before?.journal?.sequence ?? 0;
    if (follows !== sequence)
      reject(
        'R2 a write follows the sequence that it names',
        `${key}: names ${follows}, stored is ${sequence}`,
      );
    if (before?.state !== undefined && isSame(before.state, state)) return;
    const readings = [...(memory.readings.get(key)?.values() ?? [])].filter(({ row }) => isSame(row, state));
    if (readings.length === 0)
      reject('R2 a state was read', `${key}: nobody has shown ${contentOf(state)} to ${process}`);
    else if (before?.state === undefined) judgeCreation(key, clock, readings);
    else
      judgeChange(key, before.state, {
        readings,
        knownAt: memory.known.get(key)?.get(sequence) ?? Number.POSITIVE_INFINITY,
      });
  }

  function judgeCreation(key: string, clock: number, readings: readonly Seen[]): void {
    const fresh = readings.filter((seen) => clock - seen.clock <= law.reading);
    if (fresh.length === 0) reject('R4 an old reading creates nothing', key);
    else if (fresh.every((seen) => isHistory(seen, projectOf(key))))
      reject('R3 history is not recorded', key);
  }

  /** The clocks of two processes differ, so the sign of what lies between their times says nothing. */
  function judgeChange(
    key: string,
    stored: State,
    { readings, knownAt }: { readonly readings: readonly Seen[]; readonly knownAt: number },
  ): void {
    const later = readings.filter(({ sentAt }) => sentAt > knownAt);
    const isBelieved = ({ row, clock }: Seen) =>
      !goesBack(row, stored) || Math.abs(clock - stored.observedAt) >= law.lag;
    if (later.length === 0) reject('R2 the store is read before the upstream', key);
    else if (!later.some(isBelieved))
      reject('R5 a reading that goes back is doubted', `${key}: after ${contentOf(stored)}`);
  }

  // Publishing.

  function judgeJournal(
    { process, key, clock, tableClock }: Call & Write,
    before: Item | undefined,
    item: Item,
  ): void {
    const { journal, state } = item;
    if (journal === undefined) return;
    const { sequence, published, derived, outbox } = journal;
    const was = before?.journal ?? { sequence: 0, published: 0 };
    const isGap = state !== undefined && sequence > was.sequence + 1;
    // A write of a state that began before an acknowledgement may put it back: then copies are sent.
    const isPutBack = published < was.published && sequence === was.sequence;
    if (isGap || sequence < was.sequence || isPutBack)
      reject(
        'R2 a sequence has no gap',
        `${key}: ${was.sequence} ${was.published} -> ${sequence} ${published}`,
      );
    const { taken } = memoryOf(process);
    for (let place = was.published + 1; place <= published; place++) {
      const id = placed.get(key)?.get(place);
      if (id !== undefined && !taken.has(id) && !parked.has(id))
        reject('P2 only what the bus has taken is acknowledged', `${key} ${place}`);
    }
    const kept = outbox && new Set(outbox.map((entry) => entry.sequence));
    for (let place = published + 1; place <= sequence; place++)
      if (kept?.has(place) === false) reject('P2 what is not published stays stored', `${key} ${place}`);
    if (at(derived) > published) reject('P5 what derives follows the publication', key);
    if (state === undefined) return;
    const isBehind = published < sequence || (derived !== undefined && derived < sequence);
    const isOpen = !TERMINAL.has(state.status) && state.isWatchEnded !== true;
    if (!state.isWork && (isBehind || isOpen)) reject('P3 work stands in the index', key);
    if (state.isWork && state.expiresAt !== undefined)
      reject('P6 only what is settled expires', `${key}: ${state.expiresAt}`);
    if (!state.isWork && before?.state?.isWork !== false) {
      const from = Math.max(tableClock ?? clock, at(state.createdAt));
      if (state.expiresAt === undefined || state.expiresAt < from + law.retention)
        reject('P6 a record stays for its retention', `${key}: ${state.expiresAt}`);
    }
  }

  function takePut({ process, entries, isAnswered }: Call & Put): void {
    const { taken } = memoryOf(process);
    for (const { id, body, isTaken, follows } of entries) {
      if (follows === undefined && !storedIds.has(id)) reject('P1 only what is stored is published', id);
      if (follows !== undefined && !isPublished(follows, taken))
        reject('P5 what derives follows the publication', `${id} before ${follows.key} ${follows.sequence}`);
      noteBody(id, body);
      if (isTaken && isAnswered) taken.add(id);
    }
  }

  function noteBody(id: string, body: string): void {
    if ((bodies.get(id) ?? body) !== body) reject('P4 an id stands for all bytes of an event', id);
    bodies.set(id, body);
  }

  function isPublished(
    { key, sequence }: { readonly key: string; readonly sequence: number },
    taken: ReadonlySet<string>,
  ): boolean {
    // What has expired was published.
    const published = items.get(key)?.journal?.published ?? (expiredAt.has(key) ? sequence : 0);
    if (published >= sequence) return true;
    const id = placed.get(key)?.get(sequence);
    return id !== undefined && taken.has(id);
  }
}
