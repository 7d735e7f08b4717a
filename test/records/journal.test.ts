import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  append,
  EMPTY_JOURNAL,
  type ForeignEntry,
  groupForRelay,
  HISTORY_ENTRIES_MAX,
  isJournalFull,
  type Journal,
  oldestFirst,
  oldestPendingMs,
  PENDING_ENTRIES_MAX,
  pendingEntries,
} from '../../shared/records/journal.ts';
import type { OperationEntry } from '../../shared/records/journal-entries.ts';
import { acknowledged, hasWork } from '../../shared/records/journal-record.ts';
import { isOpen, isSettled, statusAgeMs } from '../../shared/records/operation-record.ts';
import { aRecord, commandRecord, NOON_MS } from '../builders.ts';

const entry = (revision: number, observed_at = '2026-01-15T12:00:00.000Z'): OperationEntry => ({
  type: 'watch_ended',
  id: `event-${revision}`,
  revision,
  observed_at,
  reason: 'vanished',
  status: 'running',
  failures_count: 0,
});

const foreign = (revision: number): ForeignEntry => ({ revision, stored: { r: revision } });

const journal = (count: number, published: number, fields: Partial<Journal<OperationEntry>> = {}) => ({
  revision: count,
  published,
  entries: Array.from({ length: count }, (_, place) => entry(place + 1)),
  ...fields,
});

const revisionsOf = (entries: readonly { readonly revision: number }[]) =>
  entries.map(({ revision }) => revision);

describe('a journal', () => {
  test('is full with sixty-four entries that the bus has not taken', () => {
    expect(isJournalFull(journal(PENDING_ENTRIES_MAX - 1, 0))).toBe(false);
    expect(isJournalFull(journal(PENDING_ENTRIES_MAX, 0))).toBe(true);
    expect(isJournalFull(journal(PENDING_ENTRIES_MAX, 1))).toBe(false);
  });

  test('keeps what is not acknowledged, and of the rest the newest thirty-two, whatever happens', () => {
    const step = fc.oneof(fc.constant('append' as const), fc.nat({ max: 5 }));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        let now: Journal<OperationEntry> = EMPTY_JOURNAL;
        for (const each of steps) {
          if (each === 'append') now = append(now, entry(now.revision + 1));
          else now = { ...now, published: Math.min(now.revision, now.published + each) };
        }
        const revisions = revisionsOf(now.entries);
        const first = revisions[0] ?? 1;

        expect(revisions).toEqual(revisions.map((_, place) => first + place));
        expect(now.entries.at(-1)?.revision ?? 0).toBe(now.revision);
        expect(revisionsOf(pendingEntries(now))).toEqual(
          Array.from({ length: now.revision - now.published }, (_, place) => now.published + place + 1),
        );
        expect(now.entries.length).toBeGreaterThanOrEqual(Math.min(now.revision, HISTORY_ENTRIES_MAX));
      }),
    );
  });

  test('drops what is acknowledged and older than the newest thirty-two', () => {
    const full = journal(HISTORY_ENTRIES_MAX, HISTORY_ENTRIES_MAX);
    const next = append(full, entry(HISTORY_ENTRIES_MAX + 1));

    expect(next.entries).toHaveLength(HISTORY_ENTRIES_MAX);
    expect(next.entries[0]?.revision).toBe(2);
    expect(append({ ...full, published: 0 }, entry(HISTORY_ENTRIES_MAX + 1)).entries).toHaveLength(33);
  });

  test('publishes nothing behind an entry that this version cannot read', () => {
    const broken = journal(5, 1, { entries: [1, 2, 4, 5].map((each) => entry(each)), foreign: [foreign(3)] });

    expect(revisionsOf(pendingEntries(broken))).toEqual([2]);
    expect(revisionsOf(pendingEntries({ ...broken, published: 3 }))).toEqual([4, 5]);
    expect(revisionsOf(pendingEntries({ ...broken, foreign: [foreign(5), foreign(3)] }))).toEqual([2]);
  });

  test('keeps such an entry as it lies there, for as long as the others of its age', () => {
    const old = journal(32, 32, { foreign: [foreign(1), foreign(20)] });
    const next = append(old, entry(33));

    expect(next.foreign).toEqual([foreign(20)]);
    expect(append(journal(32, 32, { foreign: [foreign(2)] }), entry(33)).foreign).toEqual([foreign(2)]);
    expect(append(journal(32, 32, { foreign: [foreign(1)] }), entry(33))).not.toHaveProperty('foreign');
    expect(append(journal(2, 2), entry(3))).not.toHaveProperty('foreign');
  });
});

describe('a record stands in the work index', () => {
  const published = { ...aRecord({ status: 'finished' }), published: 1 };

  test.each([
    ['an operation whose event is not published', { ...published, published: 0 }, true],
    ['one that has ended and is published', published, false],
    ['one that is open', { ...aRecord(), published: 1 }, true],
    ['one whose watch has ended', { ...aRecord(), published: 1, watch_ended: true }, false],
    ['a command that is not settled', commandRecord('a-1', 'r-1'), true],
    ['a command that is settled', { ...commandRecord('a-1', 'r-1'), is_settled: true }, false],
  ])('%s: %#', (_what, record, expected) => {
    expect(hasWork(record)).toBe(expected);
  });

  test('of a project only while its events are not published', () => {
    const project = {
      kind: 'project',
      account_id: 'main',
      project_id: 'a-1',
      is_visible: true,
      revision: 1,
      published: 1,
      entries: [],
    } as const;

    expect(hasWork(project)).toBe(false);
    expect(hasWork({ ...project, published: 0 })).toBe(true);
  });

  test('with an acknowledgement that never goes back', () => {
    expect(acknowledged(published, { through: 0, derived: 0 }).published).toBe(1);
    expect(acknowledged({ ...published, published: 0 }, { through: 1, derived: 1 }).published).toBe(1);
  });
});

describe('an operation', () => {
  const ended = aRecord({ status: 'finished' });

  test('is settled once it has ended and the bus has its events', () => {
    expect(isSettled(ended)).toBe(false);
    expect(isSettled({ ...ended, published: 1 })).toBe(true);
    expect(isSettled({ ...aRecord(), published: 1 })).toBe(false);
  });

  test.each(['scheduling', 'running', 'failed', 'cancelling', 'unheard_of'])(
    'that is %s is open',
    (status) => {
      expect(isOpen({ status, watch_ended: false })).toBe(true);
      expect(isOpen({ status, watch_ended: true })).toBe(false);
    },
  );

  test.each(['finished', 'skipped', 'cancelled', 'error'])('that is %s is not', (status) => {
    expect(isOpen({ status, watch_ended: false })).toBe(false);
  });

  test('has an age in its status, which is never below nothing', () => {
    expect(statusAgeMs(ended, NOON_MS + 5)).toBe(5);
    expect(statusAgeMs(ended, NOON_MS - 5)).toBe(0);
    expect(statusAgeMs({ ...ended, status_observed_at: 'soon' }, NOON_MS)).toBe(0);
  });
});

describe('records that are relayed', () => {
  const named = (name: string, count: number, published: number, observed_at?: string) => ({
    ...journal(count, published),
    name,
    entries: Array.from({ length: count }, (_, place) => entry(place + 1, observed_at)),
  });
  const namesOf = (groups: readonly (readonly { readonly name: string }[])[]) =>
    groups.map((group) => group.map(({ name }) => name).join(''));

  test('go in groups of ten entries at most, whole records in their order', () => {
    const records = [
      named('a', 4, 0),
      named('b', 6, 0),
      named('c', 1, 0),
      named('d', 30, 0),
      named('e', 12, 3),
    ];

    expect(namesOf(groupForRelay(records))).toEqual(['ab', 'c', 'd', 'e']);
    expect(groupForRelay([])).toEqual([]);
  });

  test('are counted by what is not published', () => {
    expect(namesOf(groupForRelay([named('a', 20, 15), named('b', 9, 4), named('c', 9, 8)]))).toEqual([
      'ab',
      'c',
    ]);
  });

  test('come oldest first, by their oldest entry that is not acknowledged', () => {
    const late = named('late', 1, 0, '2026-01-15T12:00:02.000Z');
    const early = named('early', 1, 0, '2026-01-15T12:00:01.000Z');
    const done = named('done', 1, 1, '2026-01-15T12:00:00.000Z');

    expect(oldestFirst([late, early, done]).map(({ name }) => name)).toEqual(['done', 'early', 'late']);
    expect(oldestPendingMs([late, early, done])).toBe(Date.parse('2026-01-15T12:00:01.000Z'));
    expect(oldestPendingMs([late, early].toReversed())).toBe(Date.parse('2026-01-15T12:00:01.000Z'));
    expect(oldestPendingMs([done])).toBeUndefined();
  });
});
