/**
 * Says of one run, step by step, whether the protocol allows what its processes did. A step is what crossed a port: reads and writes of
 * items, answers of the upstream, and calls of the bus, in the order in which they took effect. Whatever made the steps is not known here.
 */

/** A time is a number, in whatever unit the run counts. It is NaN where none can be read. */
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
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface State extends Reading {
  readonly observedAt: number;
  /** The operation has its place in the work index. */
  readonly isWork: boolean;
  readonly isWatchEnded?: boolean;
  readonly expiresAt?: number | undefined;
}

export interface Journal {
  readonly sequence: number;
  readonly published: number;
  readonly derived?: number | undefined;
  /** These events wait for the bus. */
  readonly outbox: readonly { readonly sequence: number; readonly id: string }[];
}

export interface Row extends Reading {
  readonly key: string;
  /** R6: nothing can ever be recorded of it. */
  readonly isPassedOver?: boolean;
}

/** Stands for an item that cannot be read. */
function passedOver(key: string): Row {
  return {
    key,
    status: '',
    failures: 0,
    createdAt: Number.NaN,
    updatedAt: Number.NaN,
    isPassedOver: true,
  };
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
  | Read
  | List
  | Get
  | Write
  | Put;

interface Read extends Call {
  readonly kind: 'read';
  readonly key: string;
  readonly reach?: Reach | undefined;
  readonly sequence: number;
  readonly published: number;
  /** Another version has written it, and this one passes it over. */
  readonly isUnreadable?: boolean;
}

/** Rows of an answer, with the answer's own clock. */
interface Answer extends Call {
  readonly rows: readonly Row[];
  readonly date: number | undefined;
}

/** Single operations, and the operations that a command has started. */
interface Get extends Answer {
  readonly kind: 'get';
}

interface List extends Answer {
  readonly kind: 'list';
  readonly project: string;
  readonly cursor: string | undefined;
  /** Rows of which nothing can be read are missing from `rows` and count here. */
  readonly rowCount: number;
  readonly next: string | undefined;
}

/** A write that was refused has no effect, and is no step. */
interface Write extends Call {
  readonly kind: 'write';
  readonly key: string;
  /** The table holds this afterwards. */
  readonly item: Item;
  /** The process knows that it was applied. */
  readonly isKnown: boolean;
  /** A write of a state names the sequence that it follows: 0 when there is none, and undefined when it names nothing. */
  readonly state?: { readonly follows: number | undefined } | undefined;
  /** This event is kept apart, because the bus refuses it for good. */
  readonly parked?: string | undefined;
  /** Records expire by this clock. Without it they expire by that of the process. */
  readonly tableClock?: number;
}

interface Put extends Call {
  readonly kind: 'put';
  readonly entries: readonly {
    readonly id: string;
    readonly body: string;
    /** The bus has taken it, and the process knows. */
    readonly isTaken: boolean;
    /** A derived event that no item holds names the operation that it follows. */
    readonly follows?: { readonly key: string; readonly sequence: number };
  }[];
}

export interface Rejection {
  readonly step: number;
  readonly rule: string;
  readonly detail: string;
}

/** A row as a process has read it. */
interface Seen {
  readonly row: Row;
  answer: Answer;
}

interface Page {
  readonly list: List;
  /** The head of the list was read before, and its rows count, too. */
  readonly before?: List | undefined;
}

/** Pages of one list that connect, from its head or from a resume point downwards. */
interface Thread {
  /** A thread from a resume point has the head that is stored there. */
  readonly head: number | undefined;
  readonly pages: Page[];
}

interface Memory {
  /** At which step the process has known a sequence of an item first. */
  readonly known: Map<string, number>;
  /** The latest reading of each content, by operation. */
  readonly readings: Map<string, Seen[]>;
  readonly projects: Map<string, Reach | undefined>;
  readonly threads: Map<string, Thread[]>;
  /** The heads of the resume points of each project, by their cursors. */
  readonly resumes: Map<string, Map<string, number | undefined>>;
  /** The bus has taken these events, as far as the process knows. */
  readonly taken: Set<string>;
  /** The latest earlier clock of all answers. */
  earlier: number;
  /** The latest time that the process's clock has shown at a read. */
  readClock: number;
}

const THREADS_KEPT = 12;
const TERMINAL: ReadonlySet<string> = new Set(['finished', 'skipped', 'cancelled', 'error']);
/** A failure begins the steps of its count anew, and an end is the last one. */
const STEPS = ['failed', 'scheduling', 'running', 'cancelling'];

const stepOf = (status: string) => (TERMINAL.has(status) ? STEPS.length : STEPS.indexOf(status));
const at = (time: number | undefined) => time ?? Number.NEGATIVE_INFINITY;
const isSame = (a: Reading, b: Reading) => a.status === b.status && a.failures === b.failures;
const placeOf = (key: string, sequence: number) => `${key} ${sequence}`;
/** The item of this key holds the first sight of all projects that have none of their own. */
const ACCOUNT = 'ACCOUNT';
/** The key of an item begins with that of its project. */
const projectOf = (key: string) => key.split('/', 1)[0] ?? key;

/** Returns the value of a key, which is made when there is none. */
function keptIn<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

/** The earlier clock of an answer. */
const earlierOf = ({ clock, date = clock }: Answer) => Math.min(clock, date);

function seenIn({ before, list }: Page): readonly Seen[] {
  const lists = before === undefined ? [list] : [before, list];
  return lists.flatMap((answer) => answer.rows.map((row) => ({ row, answer })));
}

/** R5. */
function goesBack(row: Reading, stored: Reading): boolean {
  if (row.updatedAt < stored.updatedAt) return true;
  if (row.failures !== stored.failures) return row.failures < stored.failures;
  const [step, storedStep] = [stepOf(row.status), stepOf(stored.status)];
  if (step >= 0 && storedStep >= 0) return step < storedStep;
  return row.status !== stored.status && row.updatedAt === stored.updatedAt && !TERMINAL.has(row.status);
}

/** Returns the newest `created_at` of the first page that is not later than the earlier clock. */
function headOf({ head, pages: [first] }: Thread): number | undefined {
  const good =
    first === undefined ? [] : seenIn(first).filter(({ row, answer }) => row.createdAt <= earlierOf(answer));
  return head ?? (good.length > 0 ? Math.max(...good.map(({ row }) => row.createdAt)) : undefined);
}

/** Step 6. How full a page is says nothing. */
function isEnd(pages: readonly Page[], place: number, stop: number): boolean {
  const { cursor, rowCount, next, rows } = (pages[place] as Page).list;
  if (rowCount === 0 || next === undefined) return true;
  const last = rows.findLast(({ createdAt }) => !Number.isNaN(createdAt));
  if (last !== undefined && last.createdAt < stop) return true;
  if (cursor === undefined) return false;
  const known = new Set(pages.slice(0, place).flatMap((page) => seenIn(page).map(({ row }) => row.key)));
  return rows.every(({ key }) => known.has(key));
}

interface Acceptor {
  readonly take: (step: Step) => void;
  readonly stepCount: number;
  readonly rejections: readonly Rejection[];
}

export function createAcceptor(law: Law): Acceptor {
  let stepCount = 0;
  const rejections: Rejection[] = [];
  let items = new Map<string, Item>();
  const memories = new Map<string, Memory>();
  /** The bodies of all events that were ever stored, by id. A body is known when the event has been sent. */
  const bodies = new Map<string, string | undefined>();
  /** The id of the event at each place of an item. */
  const placed = new Map<string, string>();
  const parked = new Set<string>();
  /** The states that an item had, as long as it is there. */
  const states = new Map<string, Reading[]>();
  const expiredAt = new Map<string, number>();

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
  };

  function takeStep(step: Step): void {
    if (step.kind === 'read') takeRead(step);
    else if (step.kind === 'list') takeList(step);
    else if (step.kind === 'get') takeAnswer(step);
    else if (step.kind === 'write') takeWrite(step);
    else if (step.kind === 'put') takePut(step);
    else if (step.kind === 'restore') takeRestore(step.items);
    else {
      items.delete(step.key);
      states.delete(step.key);
      expiredAt.set(step.key, stepCount);
    }
  }

  /** Nobody goes on with what it knew of the table. What the upstream has shown stays true. */
  function takeRestore(kept: ReadonlyMap<string, Item>): void {
    items = new Map(kept);
    states.clear();
    placed.clear();
    for (const [key, item] of items) note(key, item);
    for (const memory of memories.values()) memory.known.clear();
  }

  function memoryOf(process: string): Memory {
    return keptIn(memories, process, () => ({
      known: new Map(),
      readings: new Map(),
      projects: new Map(),
      threads: new Map(),
      resumes: new Map(),
      taken: new Set(),
      earlier: Number.NEGATIVE_INFINITY,
      readClock: Number.NEGATIVE_INFINITY,
    }));
  }

  // What a process reads.

  function takeRead(step: Read): void {
    const { process, key, reach, sequence, published } = step;
    const memory = memoryOf(process);
    const { known, projects, taken } = memory;
    memory.readClock = Math.max(memory.readClock, step.clock);
    if (key === projectOf(key)) projects.set(key, reach);
    // What is recorded stays recorded, so a walk may go on at any resume point that its process has read.
    if (reach?.resume !== undefined)
      keptIn(memory.resumes, key, () => new Map()).set(reach.resume.cursor, reach.resume.head);
    if (step.isUnreadable === true) takeAnswer({ ...step, rows: [passedOver(key)], date: undefined });
    keptIn(known, placeOf(key, sequence), () => stepCount);
    // Somebody else has acknowledged these.
    for (let place = published; place > 0; place--) taken.add(placed.get(placeOf(key, place)) ?? '');
  }

  function takeAnswer(answer: Answer): void {
    const memory = memoryOf(answer.process);
    // A clock that was set back while the request waited for its permit says nothing of when the process began to wait.
    const earlier = answer.clock < memory.readClock ? answer.date : earlierOf(answer);
    if (answer.date !== undefined) memory.earlier = Math.max(memory.earlier, at(earlier));
    for (const row of answer.rows) {
      const readings = keptIn(memory.readings, row.key, (): Seen[] => []);
      const known = readings.find((had) => isSame(had.row, row) && had.row.updatedAt === row.updatedAt);
      if (known === undefined) readings.push({ row, answer });
      else known.answer = answer;
    }
  }

  function takeList(list: List): void {
    takeAnswer(list);
    const { process, project, cursor } = list;
    const memory = memoryOf(process);
    const threads = keptIn(memory.threads, project, (): Thread[] => []);
    const resumes = memory.resumes.get(project);
    if (cursor === undefined) {
      // A head that is read again may come from a replica that lags, so the rows of the head before it can count as well.
      const [first, ...below] = threads.at(-1)?.pages ?? [];
      if (first?.list.cursor === undefined && below.length === 0)
        threads.push({ head: undefined, pages: [{ list, before: first?.list }] });
      threads.push({ head: undefined, pages: [{ list }] });
    } else {
      for (const { pages } of threads) if (pages.at(-1)?.list.next === cursor) pages.push({ list });
      if (resumes?.has(cursor)) threads.push({ head: resumes.get(cursor), pages: [{ list }] });
    }
    threads.splice(0, threads.length - THREADS_KEPT);
  }

  // What a process writes.

  function takeWrite(step: Write): void {
    const { process, key, item, isKnown, state, parked: apart } = step;
    if (apart !== undefined) parked.add(apart);
    const before = items.get(key);
    items.set(key, item);
    if (item.reach !== undefined) judgeReach(step, before?.reach, item.reach);
    if (item.state !== undefined && state !== undefined) judgeState(step, before, item.state, state.follows);
    if (item.journal !== undefined) judgeJournal(step, before?.journal, item.journal);
    if (item.state !== undefined) judgeWork(step, before?.state, item.state);
    note(key, item);
    if (isKnown) keptIn(memoryOf(process).known, placeOf(key, item.journal?.sequence ?? 0), () => stepCount);
  }

  function note(key: string, { journal, state }: Item): void {
    if (state !== undefined) {
      const had = keptIn(states, key, (): Reading[] => []);
      if (!had.some((reading) => isSame(reading, state))) had.push(state);
    }
    for (const { sequence, id } of journal?.outbox ?? []) {
      placed.set(placeOf(key, sequence), id);
      bodies.set(id, bodies.get(id));
    }
  }

  // Steps 1 and 8.

  function judgeReach({ key, process }: Write, before: Reach | undefined, after: Reach): void {
    const { earlier, projects } = memoryOf(process);
    const { since, bound, resume } = after;
    if (since !== undefined && since !== before?.since) {
      if (before?.since !== undefined)
        reject('1 the first sight stays', `${key}: ${before.since} -> ${since}`);
      // A project is seen no earlier than its account, whatever an answer says.
      const ofAccount = key === ACCOUNT ? at(undefined) : at(items.get(ACCOUNT)?.reach?.since);
      if (since > Math.max(earlier, ofAccount))
        reject('1 the first sight is by the earlier clock', `${key}: since ${since}`);
    }
    const isRaised = at(bound) > at(before?.bound);
    const isMoved = resume !== undefined && resume.cursor !== before?.resume?.cursor;
    if ((isRaised || isMoved) && projects.get(key)?.bound !== before?.bound)
      reject('8 the stored bound is the one of step 1', `${key}: ${before?.bound}`);
    const stop = at(before?.bound) - law.overlap;
    const judge = (rule: string, head: number | undefined, isLast: IsLast) => {
      const faults = (memoryOf(process).threads.get(key) ?? []).map((thread) =>
        faultOf(thread, { key, stop, head, isLast }),
      );
      if (!faults.includes(undefined)) reject(rule, `${key}: ${head}: ${faults.at(-1) ?? 'no walk'}`);
    };
    if (isRaised)
      judge('8 a bound is the head of a whole walk', bound, (pages, place) => isEnd(pages, place, stop));
    if (isMoved)
      judge(
        '8 a resume point ends recorded pages',
        resume.head,
        (pages, place) => pages[place]?.list.next === resume.cursor,
      );
  }

  /** Returns why this thread does not show that everything is recorded from the head down to a last page. */
  function faultOf(thread: Thread, { key, stop, head, isLast }: Claim): string | undefined {
    const { pages } = thread;
    const ofThread = headOf(thread);
    if (at(head) > at(ofThread)) return `the head is ${ofThread}`;
    const last = pages.findIndex((_, place) => isLast(pages, place));
    if (last < 0) return `it has not come down to ${stop}`;
    const rows = pages.slice(0, last + 1).flatMap(seenIn);
    const missing = rows.find((seen) => seen.row.createdAt >= stop && !isDealtWith(seen, key));
    return missing && `${missing.row.key} is not recorded`;
  }

  /** The row is recorded, is history, or is passed over. */
  function isDealtWith(seen: Seen, project: string): boolean {
    const { row, answer } = seen;
    const { process, sentAt } = answer;
    const { state, journal } = items.get(row.key) ?? {};
    if (isHistory(seen, project) || (expiredAt.get(row.key) ?? 0) > sentAt) return true;
    // R8.
    if (journal !== undefined && journal.sequence - journal.published >= law.pendingMax) return true;
    const readings = memoryOf(process).readings.get(row.key) ?? [];
    const later = [seen, ...readings.filter((each) => each.answer.sentAt > sentAt)];
    return later.some(
      ({ row: reading }) =>
        reading.isPassedOver === true ||
        states.get(row.key)?.some((had) => isSame(had, reading)) === true ||
        (state !== undefined && goesBack(reading, state)),
    );
  }

  /** R3. */
  function isHistory({ row, answer }: Seen, project: string): boolean {
    const { createdAt, updatedAt, status } = row;
    if (createdAt < earlierOf(answer) - law.history) return true;
    const since = at(items.get(project)?.reach?.since ?? items.get(ACCOUNT)?.reach?.since);
    const hasEnded = TERMINAL.has(status) && createdAt < since && !(updatedAt >= since);
    return hasEnded && law.isHistoryNews !== true;
  }

  // Recording.

  function judgeState(
    { process, key, clock }: Write,
    before: Item | undefined,
    state: State,
    follows?: number,
  ) {
    const { known, readings } = memoryOf(process);
    const sequence = before?.journal?.sequence ?? 0;
    if (follows !== sequence)
      reject(
        'R2 a write follows the sequence that it names',
        `${key}: names ${follows}, stored is ${sequence}`,
      );
    const stored = before?.state;
    if (stored !== undefined && isSame(stored, state)) return;
    const seen = readings.get(key) ?? [];
    const shown = seen.filter(({ row }) => isSame(row, state));
    if (shown.length === 0) return reject('R2 a state was read', `${key}: nobody has shown ${state.status}`);
    if (stored === undefined) {
      const isFresh = ({ answer }: Seen) => clock - answer.clock <= law.reading;
      if (!shown.some(isFresh)) reject('R4 an old reading creates nothing', key);
      // What the process has seen open is news when it ends: a command may be older than the first sight of its project.
      else if (seen.filter(isFresh).every((reading) => isHistory(reading, projectOf(key))))
        reject('R3 history is not recorded', key);
      return;
    }
    const knownAt = known.get(placeOf(key, sequence)) ?? Number.POSITIVE_INFINITY;
    const later = shown.filter(({ answer }) => answer.sentAt > knownAt);
    // The clocks of two processes differ, so the sign of what lies between their times says nothing.
    const isBelieved = ({ row, answer }: Seen) =>
      !goesBack(row, stored) || Math.abs(answer.clock - stored.observedAt) >= law.lag;
    if (later.length === 0) reject('R2 the store is read before the upstream', key);
    else if (!later.some(isBelieved)) reject('R5 a reading that goes back is doubted', key);
  }

  // Publishing.

  function judgeJournal({ process, key, item }: Write, before: Journal | undefined, after: Journal): void {
    const { sequence, published, derived, outbox } = after;
    const was = before ?? { sequence: 0, published: 0 };
    // A write of a state that began before an acknowledgement may put it back: then copies are sent.
    const isPutBack = published < was.published && sequence === was.sequence;
    const isGap = item.state !== undefined && sequence > was.sequence + 1;
    if (isGap || sequence < was.sequence || isPutBack)
      reject(
        'R2 a sequence has no gap',
        `${key}: ${was.sequence} ${was.published} -> ${sequence} ${published}`,
      );
    const { taken } = memoryOf(process);
    for (let place = was.published + 1; place <= published; place++) {
      const id = placed.get(placeOf(key, place));
      if (id !== undefined && !taken.has(id) && !parked.has(id))
        reject('P2 only what the bus has taken is acknowledged', placeOf(key, place));
    }
    const kept = new Set(outbox.map((entry) => entry.sequence));
    for (let place = published + 1; place <= sequence; place++)
      if (!kept.has(place)) reject('P2 what is not published stays stored', placeOf(key, place));
    if (at(derived) > published) reject('P5 what derives follows the publication', key);
  }

  function judgeWork({ key, item, clock, tableClock }: Write, before: State | undefined, after: State): void {
    const { sequence = 0, published = 0, derived = sequence } = item.journal ?? {};
    const { isWork, expiresAt, createdAt } = after;
    const isOpen = !TERMINAL.has(after.status) && after.isWatchEnded !== true;
    if (!isWork && (isOpen || published < sequence || derived < sequence))
      reject('P3 work stands in the index', key);
    if (isWork && expiresAt !== undefined) reject('P6 only what is settled expires', `${key}: ${expiresAt}`);
    const from = Math.max(tableClock ?? clock, createdAt || at(undefined));
    if (!isWork && before?.isWork !== false && at(expiresAt) < from + law.retention)
      reject('P6 a record stays for its retention', `${key}: ${expiresAt}`);
  }

  function takePut({ process, entries }: Put): void {
    const { taken } = memoryOf(process);
    for (const { id, body, isTaken, follows } of entries) {
      if (follows === undefined && !bodies.has(id)) reject('P1 only what is stored is published', id);
      if (follows !== undefined && !isPublished(follows, taken))
        reject('P5 what derives follows the publication', `${id} before ${follows.key} ${follows.sequence}`);
      if ((bodies.get(id) ?? body) !== body) reject('P4 an id stands for all bytes of an event', id);
      bodies.set(id, body);
      if (isTaken) taken.add(id);
    }
  }

  function isPublished(
    { key, sequence }: { readonly key: string; readonly sequence: number },
    taken: ReadonlySet<string>,
  ) {
    const id = placed.get(placeOf(key, sequence));
    return (items.get(key)?.journal?.published ?? 0) >= sequence || (id !== undefined && taken.has(id));
  }
}

type IsLast = (pages: readonly Page[], place: number) => boolean;

/** What a write says of a list: everything from this head down to a last page is recorded, if it is newer than `stop`. */
interface Claim {
  readonly key: string;
  readonly stop: number;
  readonly head: number | undefined;
  readonly isLast: IsLast;
}
