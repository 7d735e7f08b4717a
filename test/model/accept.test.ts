/** The acceptor takes what the protocol allows and names the rule that a step breaks, in traces that are written by hand. */

import { describe, expect, test } from 'vitest';
import { createAcceptor, type Item, type Row, type Step } from './accept.ts';

const LAW = { overlap: 5, lag: 10, reading: 60, history: 900, retention: 1_000, pendingMax: 64 };
const P = 'project';
const KEY = `${P}/op`;

/** A trace in which each call leaves after the step before it, and the clock shows ten times the number of steps and a hundred. */
function aTrace() {
  const steps: Step[] = [];
  const call = (process = 'a', sentAt = steps.length) => ({ process, sentAt, clock: 100 + 10 * sentAt });
  const trace = {
    push: (step: Step) => void steps.push(step),
    read: (key: string, { reach, journal }: Item = {}) => {
      const { sequence = 0, published = 0 } = journal ?? {};
      steps.push({ ...call(), kind: 'read', key, reach, sequence, published });
    },
    list: (rows: readonly Row[], { cursor, next, date = 1_000, sentAt }: Partial<Listed> = {}) =>
      void steps.push({
        ...call('a', sentAt),
        kind: 'list',
        project: P,
        cursor,
        rowCount: rows.length,
        rows,
        next,
        date,
      }),
    get: (row: Row) => void steps.push({ ...call(), kind: 'get', rows: [row], date: undefined }),
    write: (key: string, item: Item, how: Partial<Written> = {}) =>
      void steps.push({
        ...call(),
        kind: 'write',
        key,
        isKnown: true,
        item,
        state: how.follows === undefined ? undefined : { follows: how.follows },
      }),
    put: (id: string, how: { body?: string; isTaken?: boolean } = {}) => {
      const { body = id, isTaken = true } = how;
      steps.push({ ...call(), kind: 'put', entries: [{ id, body, isTaken }] });
    },
    project: (bound?: number, resume?: { cursor: string; head: number }) =>
      trace.write(P, { reach: { since: 90, bound, resume } }),
    /** The project is seen first, and read. */
    begin: (bound?: number) => {
      steps.push({ kind: 'restore', items: new Map([[P, { reach: { since: 90, bound } }]]) });
      trace.read(P, { reach: { since: 90, bound } });
    },
    broken: () => {
      const acceptor = createAcceptor(LAW);
      for (const step of steps) acceptor.take(step);
      return acceptor.rejections.map(({ rule }) => rule.split(' ', 1)[0]);
    },
  };
  return trace;
}

interface Listed {
  readonly cursor: string;
  readonly next: string;
  readonly date: number;
  readonly sentAt: number;
}

interface Written {
  readonly follows: number;
}

const aRow = (fields: Partial<Row> = {}): Row => ({
  key: KEY,
  status: 'running',
  failures: 0,
  createdAt: 100,
  updatedAt: 100,
  ...fields,
});

/** The item of an operation that was recorded and not yet published. */
function anItem(sequence: number, fields: Partial<NonNullable<Item['state']>> = {}, published = 0): Item {
  const { key: _, ...reading } = aRow();
  const outbox = Array.from({ length: sequence - published }, (__, place) => place + published + 1);
  return {
    state: { ...reading, observedAt: 100, isWork: true, ...fields },
    journal: {
      sequence,
      published,
      outbox: outbox.map((each) => ({ sequence: each, id: `event ${each}` })),
    },
  };
}

describe('a bound', () => {
  test('is earned by pages that connect from the head to the end, with every row recorded', () => {
    const trace = aTrace();
    trace.begin();
    trace.list([aRow()], { next: 'c' });
    trace.write(KEY, anItem(1), { follows: 0 });
    trace.list([], { cursor: 'c' });
    trace.project(100);
    expect(trace.broken()).toEqual([]);
  });

  test.each<[why: string, play: (trace: ReturnType<typeof aTrace>) => void]>([
    ['nothing was read', () => {}],
    ['the pages do not begin at the head', (trace) => trace.list([], { cursor: 'c' })],
    [
      'a page is missing',
      (trace) => {
        trace.list([aRow({ createdAt: 10, updatedAt: 10, status: 'finished' })], { next: 'c' });
        trace.list([], { cursor: 'd' });
      },
    ],
    ['a row is not recorded', (trace) => trace.list([aRow()])],
    ['the head is from the future', (trace) => trace.list([aRow({ createdAt: 101 })], { date: 99 })],
  ])('is rejected when %s', (_, play) => {
    const trace = aTrace();
    trace.begin();
    play(trace);
    trace.project(100);
    expect(trace.broken()).toEqual(['8']);
  });

  test('is read with an overlap below it, however full a page is', () => {
    for (const [createdAt, broken] of [
      [96, ['8']],
      [94, []],
    ] as const) {
      const trace = aTrace();
      trace.begin(100);
      trace.list([aRow({ createdAt: 110 }), aRow({ key: `${P}/old`, createdAt })], { next: 'c' });
      trace.push({
        kind: 'restore',
        items: new Map([
          [P, { reach: { since: 90, bound: 100 } }],
          [KEY, anItem(1)],
          [`${P}/old`, anItem(1)],
        ]),
      });
      trace.project(110);
      expect(trace.broken()).toEqual(broken);
    }
  });

  test('can be lowered by anybody, and a walk that began before must go on to the lower one', () => {
    const trace = aTrace();
    trace.begin(100);
    trace.list([aRow({ createdAt: 90, status: 'finished', updatedAt: 80 })], { next: 'c' });
    trace.project(50);
    trace.project(90);
    expect(trace.broken()).toEqual(['8', '8']);
  });
});

describe('a resume point', () => {
  test('names a cursor that was answered, and the head of its walk goes on from there', () => {
    const trace = aTrace();
    trace.begin();
    trace.list([aRow()], { next: 'c' });
    trace.write(KEY, anItem(1), { follows: 0 });
    trace.project(undefined, { cursor: 'c', head: 100 });
    trace.read(P, { reach: { since: 90, resume: { cursor: 'c', head: 100 } } });
    trace.list([aRow({ createdAt: 120 })], { next: 'd' });
    trace.list([], { cursor: 'c' });
    trace.project(100);
    expect(trace.broken()).toEqual([]);
  });

  test('is rejected with another cursor, or above a row that is not recorded', () => {
    for (const cursor of ['d', 'c']) {
      const trace = aTrace();
      trace.begin();
      trace.list([aRow()], { next: 'c' });
      trace.project(undefined, { cursor, head: 100 });
      expect(trace.broken()).toEqual(['8']);
    }
  });
});

describe('a state', () => {
  const finished = { status: 'finished', updatedAt: 110 };

  test('is written over what was read before the upstream', () => {
    const trace = aTrace();
    trace.push({ kind: 'restore', items: new Map([[KEY, anItem(1)]]) });
    trace.read(KEY, anItem(1));
    trace.get(aRow(finished));
    trace.write(KEY, anItem(2, finished), { follows: 1 });
    expect(trace.broken()).toEqual([]);
  });

  test.each<[rule: string, why: string, play: (trace: ReturnType<typeof aTrace>) => void]>([
    [
      'R2',
      'nobody has shown it',
      (trace) => {
        trace.read(KEY, anItem(1));
        trace.write(KEY, anItem(2, finished), { follows: 1 });
      },
    ],
    [
      'R2',
      'the upstream was read before the store',
      (trace) => {
        trace.get(aRow(finished));
        trace.read(KEY, anItem(1));
        trace.write(KEY, anItem(2, finished), { follows: 1 });
      },
    ],
    [
      'R2',
      'it names another sequence',
      (trace) => {
        trace.read(KEY, anItem(1));
        trace.get(aRow(finished));
        trace.write(KEY, anItem(2, finished), { follows: 2 });
      },
    ],
    [
      'R5',
      'it goes back and was asked for soon',
      (trace) => {
        trace.push({ kind: 'restore', items: new Map([[KEY, anItem(1, { observedAt: 125 })]]) });
        trace.read(KEY, anItem(1));
        trace.get(aRow({ status: 'scheduling' }));
        trace.write(KEY, anItem(2, { status: 'scheduling' }), { follows: 1 });
      },
    ],
    [
      'R5',
      'nothing orders it and the recorded state, because one of them is not listed and both are of one second',
      (trace) => {
        const paused = anItem(1, { status: 'paused_for_review', observedAt: 125 });
        trace.push({ kind: 'restore', items: new Map([[KEY, paused]]) });
        trace.read(KEY, paused);
        trace.get(aRow());
        trace.write(KEY, anItem(2), { follows: 1 });
      },
    ],
    [
      'P6',
      'it stays in the index and expires',
      (trace) => {
        trace.read(KEY, anItem(1));
        trace.get(aRow(finished));
        trace.write(KEY, anItem(2, { ...finished, expiresAt: 2_000 }), { follows: 1 });
      },
    ],
  ])('is rejected (%s) when %s', (rule, _, play) => {
    const trace = aTrace();
    trace.push({ kind: 'restore', items: new Map([[KEY, anItem(1)]]) });
    play(trace);
    expect(trace.broken()).toEqual([rule]);
  });

  test('is not created from history (R3), nor from an old reading (R4)', () => {
    const past = { status: 'finished', createdAt: 80, updatedAt: 85 };
    const history = aTrace();
    history.begin();
    history.list([aRow(past)]);
    history.write(KEY, anItem(1, past), { follows: 0 });
    expect(history.broken()).toEqual(['R3']);

    const old = aTrace();
    old.begin();
    old.list([aRow()]);
    for (let step = 0; step < 7; step++) old.read(P, { reach: { since: 90 } });
    old.write(KEY, anItem(1), { follows: 0 });
    expect(old.broken()).toEqual(['R4']);
  });
});

describe('an event', () => {
  test('is published when it is stored, and acknowledged when the bus has said so', () => {
    const trace = aTrace();
    trace.push({ kind: 'restore', items: new Map([[KEY, anItem(1)]]) });
    trace.put('event 1');
    trace.write(KEY, anItem(1, {}, 1));
    expect(trace.broken()).toEqual([]);
  });

  test.each<[rule: string, why: string, play: (trace: ReturnType<typeof aTrace>) => void]>([
    ['P1', 'it is not stored', (trace) => trace.put('event 2')],
    [
      'P2',
      'the bus has not taken it',
      (trace) => {
        trace.put('event 1', { isTaken: false });
        trace.write(KEY, anItem(1, {}, 1));
      },
    ],
    [
      'P3',
      'an open operation loses its place in the index',
      (trace) => {
        trace.put('event 1');
        trace.write(KEY, anItem(1, { isWork: false, expiresAt: 9_000 }, 1));
      },
    ],
    [
      'P4',
      'a copy of it differs',
      (trace) => {
        trace.put('event 1');
        trace.put('event 1', { body: 'another' });
      },
    ],
  ])('is rejected (%s) when %s', (rule, _, play) => {
    const trace = aTrace();
    trace.push({ kind: 'restore', items: new Map([[KEY, anItem(1)]]) });
    play(trace);
    expect(trace.broken()).toEqual([rule]);
  });

  test('settles its operation only with the retention (P6) and with what derives (P5)', () => {
    const settled = { status: 'finished', isWork: false };
    const item = anItem(1, { ...settled, expiresAt: 1_119 }, 1);
    const soon = aTrace();
    soon.push({ kind: 'restore', items: new Map([[KEY, anItem(1, { status: 'finished' })]]) });
    soon.put('event 1');
    soon.write(KEY, item);
    expect(soon.broken()).toEqual(['P6']);

    const early = aTrace();
    early.push({ kind: 'restore', items: new Map([[KEY, anItem(1)]]) });
    const { journal } = anItem(1);
    early.write(KEY, { ...anItem(1), journal: journal && { ...journal, derived: 1 } });
    expect(early.broken()).toEqual(['P5']);
  });
});
