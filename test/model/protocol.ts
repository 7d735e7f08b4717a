/**
 * The protocol, as steps between which a process can crash, pause or be overtaken. Every rule can be taken out by its name, and
 * `mutants.test.ts` says for each of them that a schedule then breaks a promise.
 */

import {
  type BusEvent,
  isTerminal,
  type OperationItem,
  type Page,
  type ProjectItem,
  Refusal,
  type Row,
  type Status,
  TIMES,
  type World,
} from './world.ts';

/** Each rule of the protocol, with the reason for it. */
export const RULES = {
  'a bound is read with an overlap': 'Rows become visible late, and replicas lag.',
  'only walks raise the bound': 'A record above unread rows proves nothing about them.',
  'only a walk that has arrived raises the bound': 'Below its last page nothing is read.',
  'a refused write holds the bound': 'The row is not recorded, and nothing else would read it.',
  'a row from the future bounds nothing':
    'Everything that comes before its time would be older than the bound.',
  'a sweep raises no bound': 'A sweep begins with what is seven days old.',
  'a walk that was cut short resumes':
    'A list that is longer than one poll reads would never be read to its end.',
  'a short page is no end': 'A page can have fewer rows than were asked for.',
  'the first walk reads the whole list': 'Open operations are news, however old they are.',
  'the clock of a reading is also our own': 'The Date of an answer can be wrong.',
  'the clock of a reading is also the Date of its answer': 'Our own clock can be wrong.',
  'the first sight is by the earlier clock': 'A Date from the future would make every operation history.',
  'what ended before the first sight is history': 'Nobody waits for it.',
  'history has ended, and not only begun, before the first sight':
    'An operation that is open at first sight is news.',
  'a row older than 190 days is history': 'The record of an operation that was told can have expired.',
  'history begins before the retention ends': 'The clock of the table and ours differ.',
  'records outlive the horizon': 'A row that the upstream still shows would be told again.',
  'a record expires after its acknowledgement': 'An event that was not sent yet would expire with it.',
  'a record expires after its created_at': 'A row from the future outlives a record that does not.',
  'a reading that is old creates nothing':
    'A process that was frozen for months would create an expired record again.',
  'a reading has the Date of its own answer': 'The Date of an earlier answer is older than the reading.',
  'a write names the sequence that it follows': 'Two processes would tell one transition twice.',
  'a reading that goes back is doubted for a while': 'A replica that lags shows an earlier state.',
  'an acknowledgement names its sequence': 'A transition that was recorded meanwhile would never be sent.',
  'work is found by the index': 'A process that crashed has told nobody what it recorded.',
  'the acknowledgement follows the publication': 'A crash between them would lose the event.',
  'an entry that failed is not acknowledged': 'PutEvents succeeds in part.',
  'the record precedes the publication': 'An event that is not recorded has no sequence that is its own.',
  'an id is a hash of the whole event': 'After a restore one transition is observed at another time.',
  'what derives stays behind': 'An error there would hold the event back.',
  'memory ends with the table':
    'After a restore a process would not record again what it remembers as recorded.',
  'a sweep reads what walks do not find': 'A row can become visible later than the overlap.',
  'a sweep has pages of random size': 'Two rows of one place on both sides of a page end would stay there.',
  'what can never be recorded is passed over': 'One bad row would hold the bound for ever.',
} as const;

export type Rule = keyof typeof RULES;

export interface Process {
  readonly name: string;
  /** What this process knows to be recorded and sent: the status and the failures of each operation. */
  readonly settled: Map<string, string>;
}

export type Steps = Generator<void, void>;

/** A step ends when a port has been called, whether or not it has refused. */
function* port<Result>(call: () => Result): Generator<void, Result> {
  try {
    return call();
  } finally {
    yield;
  }
}

/** The same as `port`, but a refusal is a result. */
function* tryPort<Result>(call: () => Result): Generator<void, Result | Refusal> {
  try {
    return call();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  } finally {
    yield;
  }
}

interface Reading {
  readonly row: Row;
  /** Our clock when the request left. */
  readonly requestedAt: number;
  readonly date: number;
}

interface Poll {
  readonly world: World;
  readonly process: Process;
  readonly without: Rule | undefined;
  readonly project: ProjectItem;
  /** What the table held before the upstream was read. */
  readonly before: ReadonlyMap<string, OperationItem>;
  /** What this poll has recorded. */
  readonly recorded: Set<string>;
}

const RECORD_TRIES = 4;
const BATCH = 10;
/** A bound is raised for this many newer rows, or for another good reason. */
const NEWER_MIN = 2;

function earlierClock(without: Rule | undefined, requestedAt: number, date: number): number {
  if (without === 'the clock of a reading is also our own') return date;
  if (without === 'the clock of a reading is also the Date of its answer') return requestedAt;
  return Math.min(requestedAt, date);
}

/** Reads the store, then the upstream, records what is new page by page, moves the bound, and publishes. */
export function* poll(world: World, process: Process, without: Rule | undefined): Steps {
  const begun = yield* begin(world, process, without);
  if (begun === undefined) return;
  yield* walk(begun);
  yield* relay(world, without, begun.recorded);
}

/** Reads what is younger than seven days once more, whatever the bound says. */
export function* sweep(world: World, process: Process, without: Rule | undefined): Steps {
  const begun = yield* begin(world, process, without);
  if (begun === undefined) return;
  yield* sweepPages(begun);
  yield* relay(world, without, begun.recorded);
}

function* begin(
  world: World,
  process: Process,
  without: Rule | undefined,
): Generator<void, Poll | undefined> {
  const project = (yield* port(() => world.readProject())) ?? (yield* firstSight(world, without));
  if (project === undefined) return undefined;
  const work = yield* port(() => world.readWork());
  const before = yield* port(
    () =>
      new Map(
        work.flatMap((id): [string, OperationItem][] => {
          const item = world.readOperation(id);
          return item === undefined ? [] : [[id, item]];
        }),
      ),
  );
  const begun = { world, process, without, before, recorded: new Set<string>() };
  return {
    ...begun,
    project: without === 'only walks raise the bound' ? yield* raiseByRecords(world, project) : project,
  };
}

/** This is what the protocol must not do. */
function* raiseByRecords(world: World, project: ProjectItem): Generator<void, ProjectItem> {
  if (project.bound === null) return project;
  const times = world.operations.flatMap(({ id }) => world.storedOperation(id)?.createdAt ?? []);
  const bound = Math.max(project.bound, ...times.filter((time) => time <= world.clock()));
  const raised = { ...project, bound };
  if (bound > project.bound)
    yield* tryPort(() =>
      world.writeProject(
        (item) => item?.bound === project.bound,
        () => raised,
      ),
    );
  return raised;
}

/** The project is created once, before its first list is read. */
function* firstSight(world: World, without: Rule | undefined): Generator<void, ProjectItem | undefined> {
  const date = world.date();
  world.heard({ ...world.call(), kind: 'get', rows: [], date });
  const since = without === 'the first sight is by the earlier clock' ? date : Math.min(date, world.clock());
  yield* tryPort(() =>
    world.writeProject(
      (item) => item === undefined,
      () => {
        world.seenAt = world.now;
        world.say(`the project is seen first, since ${since}`);
        return { since, bound: null, resume: null };
      },
    ),
  );
  return yield* port(() => world.readProject());
}

interface Walked {
  readonly seen: ReadonlySet<string>;
  readonly newerCount: number;
  readonly pageCount: number;
  readonly head: number | null;
  readonly cursor: number | null;
  readonly end: 'arrived' | 'cut';
  /** The `Date` of the last page. */
  readonly lastDate: number;
}

function* walk(polled: Poll): Steps {
  const { world, project } = polled;
  const { resume, bound } = project;
  if (resume !== null) yield* recordHead(polled);
  const walked = yield* readPages(polled, {
    cursor: resume?.cursor ?? null,
    head: resume?.head ?? null,
    stop: stopOf(polled),
    pagesMax: world.features.pagesMax,
  });
  yield* readUnseen(polled, walked);
  const isRaised = walked.head !== null && (bound === null || walked.head > bound);
  yield* moveBound(polled, walked, isRaised);
}

/** Rows that are older than this are recorded already. */
function stopOf({ project: { bound, since }, without }: Poll): number {
  if (bound === null)
    return without === 'the first walk reads the whole list' ? since : Number.NEGATIVE_INFINITY;
  return bound - (without === 'a bound is read with an overlap' ? 0 : TIMES.overlap);
}

/** News stays fast while the rest of a long list is read. */
function* recordHead(polled: Poll): Steps {
  const { world } = polled;
  const requestedAt = world.clock();
  const page = yield* tryPort(() => world.list(null));
  if (!(page instanceof Refusal)) yield* recordPage(polled, page, requestedAt);
}

interface From {
  readonly cursor: number | null;
  readonly head: number | null;
  readonly stop: number;
  readonly pagesMax: number;
  /** Returns how many rows to ask for. */
  readonly limit?: () => number;
}

function* readPages(
  polled: Poll,
  { cursor: from, head: knownHead, stop, pagesMax, limit }: From,
): Generator<void, Walked> {
  const { world, without, project } = polled;
  const seen = new Set<string>();
  let [cursor, head, pageCount, newerCount, lastDate] = [from, knownHead, 0, 0, world.now];
  const walked = (end: Walked['end']): Walked => ({
    seen,
    newerCount,
    pageCount,
    head,
    cursor,
    end,
    lastDate,
  });
  for (;;) {
    if (pageCount >= pagesMax) {
      world.hit('walk cut short');
      return walked('cut');
    }
    const requestedAt = world.clock();
    const page = yield* tryPort(() => world.list(cursor, limit?.()));
    if (page instanceof Refusal) return walked('cut');
    lastDate = page.date;
    const isRecorded = yield* recordPage(polled, page, requestedAt);
    if (!isRecorded && without !== 'a refused write holds the bound') return walked('cut');
    pageCount += 1;
    const earlier = earlierClock(without, requestedAt, page.date);
    if (pageCount === 1 && head === null) head = headOf(page, earlier, without);
    for (const { id, createdAt } of page.rows) {
      if (!seen.has(id) && (project.bound === null || createdAt > project.bound)) newerCount += 1;
      seen.add(id);
    }
    const last = page.rows.at(-1);
    if (last === undefined || last.createdAt < stop) return walked('arrived');
    if (without === 'a short page is no end' && page.isShort) return walked('arrived');
    cursor = page.cursor;
  }
}

/** Returns the newest `created_at` that has come already. */
function headOf({ rows }: Page, earlier: number, without: Rule | undefined): number | null {
  const isGood = ({ createdAt }: Row) =>
    createdAt <= earlier || without === 'a row from the future bounds nothing';
  return rows.find(isGood)?.createdAt ?? null;
}

/** Returns false when a row is not recorded for a reason that can pass. */
function* recordPage(polled: Poll, { rows, date }: Page, requestedAt: number): Generator<void, boolean> {
  let isRecorded = true;
  for (const row of rows) {
    if (!(yield* record(polled, { row, requestedAt, date }))) isRecorded = false;
  }
  return isRecorded;
}

/** Open operations that no page has shown are read one by one. */
function* readUnseen(polled: Poll, { seen, lastDate }: Walked): Steps {
  const { before } = polled;
  for (const [id, { status }] of before) {
    if (seen.has(id) || isTerminal(status)) continue;
    const reading = yield* read(polled, id, lastDate);
    if (reading !== undefined && !(reading instanceof Refusal)) yield* record(polled, reading);
  }
}

/** Reads one operation. `lastDate` is the `Date` of an earlier answer. */
function* read(
  { world, without }: Poll,
  id: string,
  lastDate: number,
): Generator<void, Reading | Refusal | undefined> {
  const call = world.call();
  const row = yield* tryPort(() => world.get(id));
  if (row === undefined || row instanceof Refusal) return row;
  const isOfOther = without === 'a reading has the Date of its own answer';
  const date = isOfOther ? lastDate : world.date();
  world.heard({ ...call, kind: 'get', rows: [world.heardRow(row)], date: isOfOther ? world.now : date });
  return { row, requestedAt: call.clock, date };
}

function* moveBound({ world, process, without, project }: Poll, walked: Walked, isRaised: boolean): Steps {
  const { bound, resume } = project;
  const { end, head, cursor, pageCount, newerCount } = walked;
  const isUnchanged = (item: ProjectItem | undefined) => item !== undefined && item.bound === bound;
  const isArrived = end === 'arrived' || without === 'only a walk that has arrived raises the bound';
  if (isArrived) {
    const isWorthIt = bound === null || pageCount > 1 || newerCount >= NEWER_MIN;
    if (resume === null && !(isRaised && isWorthIt)) return;
    yield* tryPort(() =>
      world.writeProject(isUnchanged, () => {
        if (isRaised && head !== null) {
          world.say(`${process.name}: bound ${bound} -> ${head}`);
          noteHole(world, head);
        }
        return { ...project, bound: isRaised ? head : bound, resume: null };
      }),
    );
  } else if (
    end === 'cut' &&
    pageCount > 0 &&
    cursor !== null &&
    without !== 'a walk that was cut short resumes'
  ) {
    world.hit('walk to be resumed');
    yield* tryPort(() => world.writeProject(isUnchanged, () => ({ ...project, resume: { cursor, head } })));
  }
}

/** The invariant of the protocol: what is older than the bound less the overlap, is shown, and is news, is recorded. */
function noteHole(world: World, bound: number): void {
  const hole = world.operations.find(
    (one) =>
      !one.isGone &&
      !one.isVeryLate &&
      !one.isTied &&
      !one.isPoison &&
      !one.isFuture &&
      one.createdAt < bound - TIMES.overlap &&
      one.visibleAt <= world.now &&
      isNews(world, one.id) === true &&
      world.storedOperation(one.id) === undefined,
  );
  if (hole !== undefined) world.violate(`hole: ${hole.id} is not recorded below the bound ${bound}`);
}

function* sweepPages(polled: Poll): Steps {
  const { world, process, without, project } = polled;
  const stop = earlierClock(without, world.clock(), world.date()) - TIMES.sweep;
  const limit = () =>
    without === 'a sweep has pages of random size'
      ? world.features.pageSize
      : 1 + Math.floor(world.random() * world.features.pageSize);
  const { head } = yield* readPages(polled, {
    cursor: null,
    head: null,
    stop,
    pagesMax: Number.POSITIVE_INFINITY,
    limit,
  });
  if (
    without !== 'a sweep raises no bound' ||
    head === null ||
    project.bound === null ||
    head <= project.bound
  )
    return;
  yield* tryPort(() =>
    world.writeProject(
      (item) => item?.bound === project.bound,
      () => {
        world.say(`${process.name}: a sweep raises the bound to ${head}`);
        return { ...project, bound: head, resume: null };
      },
    ),
  );
}

const keyOf = ({ status, failures }: Pick<Row, 'status' | 'failures'>) => `${status} ${failures}`;

/** Statuses that follow each other have rising ranks. */
const RANKS: Readonly<Record<Status, number>> = {
  scheduling: 0,
  running: 1,
  failed: 1,
  cancelling: 2,
  finished: 3,
  skipped: 3,
  cancelled: 3,
};

function goesBack(row: Row, item: OperationItem): boolean {
  return (
    row.updatedAt < item.updatedAt ||
    row.failures < item.failures ||
    RANKS[row.status] < RANKS[item.status] ||
    (row.status === 'failed' && row.failures <= item.failures)
  );
}

function isHistory({ project: { since }, without }: Poll, { row, requestedAt, date }: Reading): boolean {
  const { status, createdAt, updatedAt } = row;
  const hasEnded =
    isTerminal(status) &&
    createdAt < since &&
    (updatedAt < since || without === 'history has ended, and not only begun, before the first sight');
  if (hasEnded && without !== 'what ended before the first sight is history') return true;
  if (without === 'a row older than 190 days is history') return false;
  const age = without === 'history begins before the retention ends' ? TIMES.retention : TIMES.history;
  return createdAt < earlierClock(without, requestedAt, date) - age;
}

/** Records one row by compare-and-set. Returns false when it is not recorded for a reason that can pass. */
function* record(polled: Poll, reading: Reading): Generator<void, boolean> {
  const { world, process, before } = polled;
  const { id } = reading.row;
  let latest = reading;
  if (process.settled.get(id) === keyOf(latest.row)) return true;
  for (let tried = 0; tried < RECORD_TRIES; tried++) {
    let item = before.get(id);
    if (tried > 0 || item === undefined) {
      item = yield* port(() => world.readOperation(id));
      if (item !== undefined && keyOf(item) !== keyOf(latest.row)) {
        // The store was read after the upstream, so what the upstream said can be older than what is stored.
        const again = yield* read(polled, id, latest.date);
        if (again === undefined || again instanceof Refusal) return false;
        latest = again;
      }
    }
    if (item !== undefined && keyOf(item) === keyOf(latest.row)) {
      if (isTerminal(item.status) && item.published === item.sequence) process.settled.set(id, keyOf(item));
      return true;
    }
    const decided = decide(polled, latest, item);
    if (decided !== 'write') return decided === 'passed';
    const written = yield* writeTransition(polled, latest, item);
    if (written) return true;
  }
  return false;
}

/** `passed` needs no record, now or for ever. `refused` is to be tried again. */
function decide(
  polled: Poll,
  reading: Reading,
  item: OperationItem | undefined,
): 'write' | 'passed' | 'refused' {
  const { world, without } = polled;
  const { row, requestedAt } = reading;
  if (item === undefined) {
    const isOld = world.clock() - requestedAt > TIMES.reading;
    if (isOld && without !== 'a reading that is old creates nothing') {
      world.hit('reading too old');
      return 'refused';
    }
    if (isHistory(polled, reading)) return 'passed';
  } else if (
    goesBack(row, item) &&
    requestedAt - item.observedAt < TIMES.lag &&
    without !== 'a reading that goes back is doubted for a while'
  ) {
    world.hit('reading doubted');
    return 'passed';
  }
  if (world.operations.find((one) => one.id === row.id)?.isPoison) {
    world.hit('row never recorded');
    return without === 'what can never be recorded is passed over' ? 'refused' : 'passed';
  }
  return 'write';
}

function eventOf(
  without: Rule | undefined,
  { row, requestedAt }: Reading,
  item: OperationItem | undefined,
): BusEvent {
  const transition = {
    operationId: row.id,
    sequence: (item?.sequence ?? 0) + 1,
    from: item?.status ?? null,
    to: row.status,
    failures: row.failures,
    updatedAt: row.updatedAt,
  };
  const event = { ...transition, observedAt: requestedAt };
  return {
    id: JSON.stringify(without === 'an id is a hash of the whole event' ? transition : event),
    ...event,
  };
}

/** Returns true when it is written. A lost reply is no answer, so the item is read again. */
function* writeTransition(
  polled: Poll,
  reading: Reading,
  item: OperationItem | undefined,
): Generator<void, boolean> {
  const { world, process, without, recorded } = polled;
  const { row, requestedAt } = reading;
  const event = eventOf(without, reading, item);
  const sequence = (item?.sequence ?? 0) + 1;
  if (
    without === 'the record precedes the publication' &&
    (yield* tryPort(() => world.put([event]))) instanceof Refusal
  )
    return false;
  const isAtSettling = without === 'a record expires after its acknowledgement' && isTerminal(row.status);
  const result = yield* tryPort(() =>
    world.writeOperation(
      row.id,
      (stored) =>
        (stored?.sequence ?? 0) === sequence - 1 || without === 'a write names the sequence that it follows',
      (stored) => ({
        createdAt: row.createdAt,
        status: row.status,
        failures: row.failures,
        updatedAt: row.updatedAt,
        observedAt: requestedAt,
        sequence,
        published: stored?.published ?? 0,
        derived: stored?.derived ?? 0,
        outbox: [...(stored?.outbox ?? []), event],
        work: true,
        expiresAt: isAtSettling ? Math.max(world.now, row.createdAt) + TIMES.retention : undefined,
      }),
      () => {
        world.recorded.push(event);
        world.say(`${process.name}: records ${row.id} ${sequence} ${event.from} -> ${event.to}`);
      },
      sequence - 1,
    ),
  );
  const isLost = result instanceof Refusal && result.kind === 'reply lost';
  if (!(result instanceof Refusal) || isLost) recorded.add(row.id);
  return !(result instanceof Refusal);
}

/** Publishes what is stored and acknowledges what came back with an id. What derives from it stays behind its own counter. */
function* relay(world: World, without: Rule | undefined, recorded: ReadonlySet<string>): Steps {
  const found = without === 'work is found by the index' ? [] : yield* port(() => world.readWork());
  const open: [string, OperationItem][] = [];
  for (const id of new Set([...recorded, ...found])) {
    const item = world.readOperation(id);
    if (item?.work === true && (item.published < item.sequence || item.derived < item.sequence))
      open.push([id, item]);
  }
  yield;
  const batch = open.slice(0, BATCH);
  const isDerived = new Map<string, boolean>();
  if (without === 'what derives stays behind')
    for (const [id, item] of batch) isDerived.set(id, yield* derive(world, id, item));
  const usable = batch.filter(([id]) => isDerived.get(id) !== false);
  if (without === 'the acknowledgement follows the publication')
    for (const [id, item] of usable)
      yield* acknowledge(world, without, { id, item, published: item.sequence, isDerived: true });
  const published = yield* publish(world, without, usable);
  if (published === undefined || without === 'the acknowledgement follows the publication') return;
  for (const [id, item] of usable) {
    const sequence = published.get(id) ?? item.published;
    const isAll = sequence === item.sequence;
    const derived = isAll && (isDerived.get(id) ?? (yield* derive(world, id, item)));
    if (sequence > item.published || (derived && item.derived < item.sequence))
      yield* acknowledge(world, without, { id, item, published: sequence, isDerived: derived });
  }
}

/** Returns up to which sequence each operation is published without a gap, or undefined when nothing is known. */
function* publish(
  world: World,
  without: Rule | undefined,
  items: readonly (readonly [string, OperationItem])[],
): Generator<void, ReadonlyMap<string, number> | undefined> {
  const events = items.flatMap(([, { outbox, published }]) =>
    outbox.filter(({ sequence = 0 }) => sequence > published),
  );
  const published = new Map<string, number>();
  if (events.length === 0) return published;
  const taken = yield* tryPort(() => world.put(events));
  if (taken instanceof Refusal) return undefined;
  const failed = new Set<string>();
  for (const [place, { operationId, sequence = 0 }] of events.entries()) {
    if (taken[place] !== true && without !== 'an entry that failed is not acknowledged')
      failed.add(operationId);
    else if (!failed.has(operationId)) published.set(operationId, sequence);
  }
  return published;
}

/** Two operations are a pair, which is ready when both have finished. Returns false when that could not be told. */
function* derive(
  world: World,
  id: string,
  { derived, sequence, status }: OperationItem,
): Generator<void, boolean> {
  if (derived >= sequence || status !== 'finished') return true;
  const place = Number(id.slice(1));
  const pair = place - (place % 2);
  if (world.features.poisonedPairs.includes(pair)) return false;
  const other = yield* port(() => world.readOperation(`o${place % 2 === 0 ? place + 1 : place - 1}`));
  if (other?.status !== 'finished') return true;
  const taken = yield* tryPort(() =>
    world.put([{ id: `ready ${pair}`, operationId: `pair ${pair}` }], { id, sequence }),
  );
  return !(taken instanceof Refusal) && taken[0] === true;
}

interface Acknowledgement {
  readonly id: string;
  readonly item: OperationItem;
  readonly published: number;
  readonly isDerived: boolean;
}

function* acknowledge(
  world: World,
  without: Rule | undefined,
  { id, item, published, isDerived }: Acknowledgement,
): Steps {
  const isAll = published === item.sequence;
  const isSettled = isAll && isDerived && isTerminal(item.status);
  const isStillOwed = ({ sequence = 0 }: BusEvent) => sequence > published;
  const result = yield* tryPort(() =>
    world.writeOperation(
      id,
      (stored) =>
        stored !== undefined &&
        (stored.sequence === item.sequence || without === 'an acknowledgement names its sequence'),
      (stored = item) => ({
        ...stored,
        published: Math.max(stored.published, published),
        derived: isAll && isDerived ? item.sequence : stored.derived,
        outbox: isAll ? [] : stored.outbox.filter(isStillOwed),
        // A slower relay must not take a whole acknowledgement back.
        work: stored.work && !isSettled,
        expiresAt: isSettled ? (stored.expiresAt ?? expiryOf(world, without, item)) : stored.expiresAt,
      }),
    ),
  );
  if (!(result instanceof Refusal) || result.kind !== 'condition') return;
  // Another transition was recorded meanwhile, so only what was published is acknowledged.
  yield* tryPort(() =>
    world.writeOperation(
      id,
      (stored) => stored !== undefined && stored.published < published,
      (stored = item) => ({ ...stored, published, outbox: stored.outbox.filter(isStillOwed) }),
    ),
  );
}

function expiryOf(world: World, without: Rule | undefined, { createdAt }: OperationItem): number {
  const from =
    without === 'a record expires after its created_at' ? world.now : Math.max(world.now, createdAt);
  return from + (without === 'records outlive the horizon' ? 150 : TIMES.retention);
}

/** A command records the operation that the upstream's answer names, at the head of the list and at once, and raises no bound. */
export function* command(world: World, process: Process, without: Rule | undefined): Steps {
  if (world.operations.length >= world.operationsMax + 2) return;
  const operation = world.create({ isCommand: true });
  const requestedAt = world.clock();
  const [state] = operation.states;
  if (state === undefined) return;
  const { id, createdAt, place } = operation;
  const row: Row = { id, createdAt, place, status: state.status, failures: 0, updatedAt: state.updatedAt };
  world.heard({ ...world.call(), kind: 'get', rows: [world.heardRow(row)], date: world.now });
  yield;
  yield;
  const project: ProjectItem = { since: Number.NEGATIVE_INFINITY, bound: null, resume: null };
  const polled: Poll = { world, process, without, project, before: new Map(), recorded: new Set() };
  for (let tried = 0; tried < RECORD_TRIES; tried++) {
    if (world.clock() - requestedAt > TIMES.reading && without !== 'a reading that is old creates nothing')
      return;
    if (yield* writeTransition(polled, { row, requestedAt, date: world.date() }, undefined)) {
      world.hit('command recorded');
      return;
    }
    if ((yield* port(() => world.readOperation(id))) !== undefined) return;
  }
}

/** Returns true when an operation must be told, false when it must not be, and undefined when it may be. */
export function isNews(world: World, id: string): boolean | undefined {
  const project = world.storedProject();
  const operation = world.operations.find((one) => one.id === id);
  if (project === undefined || operation === undefined) return undefined;
  const last = operation.states.at(-1);
  const endedAt = last !== undefined && isTerminal(last.status) ? last.at : Number.POSITIVE_INFINITY;
  if (operation.createdAt < world.now - TIMES.history) return undefined;
  const isUnclear = world.features.stuckUpdates && operation.bornAt < world.seenAt + 3;
  if (endedAt > world.seenAt && !isUnclear) return true;
  const mayBeTold = world.features.replicas || operation.isCommand || operation.isFuture;
  return endedAt < world.seenAt && endedAt < project.since && !mayBeTold ? false : undefined;
}
