/** Tests what an upstream rarely does: nothing happens for months, lists are cut, and projects come late. */

import { describe, expect, test } from 'vitest';
import type { Backfill, Operation } from '../../shared/records/operation-record.ts';
import { type Random, seededRandom } from '../../shared/runtime/random.ts';
import { anOperation } from '../builders.ts';
import { START_MS } from '../simulation/close-stage.ts';
import { anAccount, PROJECT_ID } from './account-under-test.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;

const wholeSecond = (epochMs: number) => `${new Date(epochMs).toISOString().slice(0, 19)}Z`;

/**
 * Returns ended operations, newest first. `ageMs` gives the ages of the newest and the oldest one at the start of the
 * run.
 */
function endedOperations(
  count: number,
  random: Random,
  { newestMs, oldestMs, projectId = PROJECT_ID }: { newestMs: number; oldestMs: number; projectId?: string },
): Operation[] {
  const times = Array.from({ length: count }, () => oldestMs + random.next() * (newestMs - oldestMs));
  return times
    .toSorted((a, b) => b - a)
    .map((atMs, place) =>
      anOperation({
        id: `${projectId}-${Math.floor(newestMs / 1_000)}-${count - place}`,
        project_id: projectId,
        status: random.next() < 0.1 ? 'error' : 'finished',
        created_at: wholeSecond(atMs),
        updated_at: wholeSecond(atMs),
      }),
    );
}

const idsOf = (events: readonly Readonly<Record<string, unknown>>[]) =>
  new Set(events.map(({ operation_id }) => operation_id));

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

describe('an upstream whose pages hold fewer rows than were asked for', () => {
  test.each(SEEDS)('loses nothing, and no history becomes news (seed %i)', async (seed) => {
    const random = seededRandom(seed);
    const capMin = 1 + Math.floor(random.next() * 15);
    const capMax = capMin + Math.floor(random.next() * 5);
    const { script, poll, events } = anAccount({ sweepIntervalMs: 30 * MINUTE_MS });
    script.pageRowsMax = () => capMin + Math.floor(random.next() * (capMax - capMin + 1));
    const history = endedOperations(150, random, {
      newestMs: START_MS - 1_000,
      oldestMs: START_MS - 6 * 3_600_000,
    });
    script.operations = history;
    await poll(10 * MINUTE_MS);
    const news: Operation[] = [];
    for (let burst = 0; burst < 4; burst++) {
      const untilMs = START_MS + (10 + burst * 20) * MINUTE_MS;
      news.unshift(
        ...endedOperations(40, random, { newestMs: untilMs, oldestMs: untilMs - MINUTE_MS }).filter(
          ({ created_at }) => created_at > wholeSecond(START_MS),
        ),
      );
      script.operations = [...news, ...history];
      await poll(20 * MINUTE_MS);
    }

    expect(news.length).toBeGreaterThan(100);
    expect(idsOf(events())).toEqual(new Set(news.map(({ id }) => id)));
  });

  test('an open operation behind the first walk is read to its end', async () => {
    const { script, poll, events } = anAccount();
    script.pageRowsMax = () => 3;
    const random = seededRandom(9);
    const ended = endedOperations(60, random, {
      newestMs: START_MS - 1_000,
      oldestMs: START_MS - 3_600_000,
    });
    script.operations = ended.map((row, place) => (place === 55 ? { ...row, status: 'running' } : row));
    await poll(5 * MINUTE_MS);
    script.operations = ended;
    await poll(5 * MINUTE_MS);

    const changes = events().filter(({ type }) => type === 'Operation State Changed');
    expect(changes.map(({ previous_status, status }) => [previous_status, status])).toEqual([
      [null, 'running'],
      ['running', ended[55]?.status],
    ]);
  });
});

describe('a project in which nothing happens for months', () => {
  const backfills: readonly Backfill[] = ['open', 'none', 'all'];

  test.each(backfills)('is not announced again, with backfill %s', async (backfill) => {
    const random = seededRandom(11);
    const { script, poll, pass, events, expire, restart } = anAccount({
      backfill,
      sweepIntervalMs: DAY_MS,
    });
    script.operations = endedOperations(18, random, {
      newestMs: START_MS - MINUTE_MS,
      oldestMs: START_MS - DAY_MS,
    });
    await poll(MINUTE_MS);
    script.operations = [
      ...endedOperations(5, random, { newestMs: START_MS + 80_000, oldestMs: START_MS + 70_000 }),
      ...script.operations,
    ];
    await poll(2 * MINUTE_MS);
    const before = events();
    let expiredCount = 0;
    for (let day = 0; day < 230; day++) {
      await pass(DAY_MS);
      expiredCount += expire();
      if (day % 30 === 20) restart();
      await poll(20_000);
    }

    expect(idsOf(before).size).toBe(backfill === 'all' ? 23 : 5);
    expect(expiredCount).toBeGreaterThanOrEqual(backfill === 'all' ? 23 : 5);
    expect(events()).toEqual(before);
  });

  test('wakes up with news alone', async () => {
    const { script, poll, pass, events, expire } = anAccount({ sweepIntervalMs: DAY_MS });
    const random = seededRandom(12);
    script.operations = endedOperations(10, random, {
      newestMs: START_MS - MINUTE_MS,
      oldestMs: START_MS - DAY_MS,
    });
    await poll(MINUTE_MS);
    for (let day = 0; day < 400; day += 10) {
      await pass(10 * DAY_MS);
      expire();
      await poll(20_000);
    }
    const wakesMs = START_MS + 401 * DAY_MS;
    const news = endedOperations(4, random, { newestMs: wakesMs, oldestMs: wakesMs - 5_000 });
    script.operations = [...news, ...script.operations];
    await pass(2 * DAY_MS);
    await poll(MINUTE_MS);

    expect(idsOf(events())).toEqual(new Set(news.map(({ id }) => id)));
  });

  test('loses nothing of the months in which the bridge itself was away', async () => {
    const { script, poll, pass, events, expire, restart } = anAccount();
    const random = seededRandom(13);
    script.operations = endedOperations(10, random, {
      newestMs: START_MS - MINUTE_MS,
      oldestMs: START_MS - DAY_MS,
    });
    await poll(MINUTE_MS);
    await pass(DAY_MS + MINUTE_MS);
    await poll(MINUTE_MS);
    const awayMs = START_MS + 3 * DAY_MS;
    const missed = endedOperations(40, random, { newestMs: awayMs + 57 * DAY_MS, oldestMs: awayMs });
    script.operations = [...missed, ...script.operations];
    await pass(60 * DAY_MS);
    expire();
    restart();
    await poll(5 * MINUTE_MS);

    expect(idsOf(events())).toEqual(new Set(missed.map(({ id }) => id)));
  });
});

test('a project that could not be read for months from the beginning loses nothing of them', async () => {
  const random = seededRandom(15);
  const { script, poll, pass, events } = anAccount();
  script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
  script.operations = endedOperations(5, random, {
    newestMs: START_MS - MINUTE_MS,
    oldestMs: START_MS - DAY_MS,
  });
  await poll(MINUTE_MS);
  const missed = endedOperations(50, random, {
    newestMs: START_MS + 89 * DAY_MS,
    oldestMs: START_MS + 2 * MINUTE_MS,
  });
  script.operations = [...missed, ...script.operations];
  await pass(90 * DAY_MS);
  script.fails = () => undefined;
  await poll(10 * MINUTE_MS);

  const changes = events().filter(({ type }) => type === 'Operation State Changed');
  expect(idsOf(changes)).toEqual(new Set(missed.map(({ id }) => id)));
});

/** An account sleeps for this long, until the table has forgotten what it knew. */
const SLEEP_MS = 60 * DAY_MS;

describe('what was recorded is not published again, and what was not recorded is not lost, after weeks', () => {
  test('in which a first walk stood still half-way', async () => {
    const random = seededRandom(41);
    const { script, poll, pass, events, expire, restart } = anAccount({ backfill: 'all' });
    script.pageRowsMax = () => 10;
    script.operations = endedOperations(200, random, {
      newestMs: START_MS - MINUTE_MS,
      oldestMs: START_MS - 3 * DAY_MS,
    });
    let pageCount = 0;
    script.fails = ({ name }) => (name === 'operations' && ++pageCount > 8 ? 'unavailable' : undefined);
    await poll(MINUTE_MS);
    const before = idsOf(events());
    await pass(SLEEP_MS);
    expire();
    restart();
    script.fails = () => undefined;
    await poll(10 * MINUTE_MS);

    expect(before.size).toBeGreaterThan(50);
    const changes = events().filter(({ type }) => type === 'Operation State Changed');
    expect(idsOf(changes).size).toBe(200);
    expect(changes).toHaveLength(200);
  });

  test('in which a project could not be read, soon after its last operations', async () => {
    const random = seededRandom(42);
    const { script, poll, pass, events, expire, restart } = anAccount();
    const ended = (newestMs: number, oldestMs: number) => endedOperations(5, random, { newestMs, oldestMs });
    await poll(MINUTE_MS);
    script.operations = ended(START_MS + 90_000, START_MS + 70_000);
    await poll(2 * MINUTE_MS);
    const seen = ended(START_MS + 220_000, START_MS + 200_000);
    script.operations = [...seen, ...script.operations];
    await poll(2 * MINUTE_MS);
    const before = events();
    script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
    const missed = ended(START_MS + 500_000, START_MS + 400_000);
    script.operations = [...missed, ...script.operations];
    await poll(5 * MINUTE_MS);
    await pass(SLEEP_MS);
    expire();
    restart();
    script.fails = () => undefined;
    await poll(10 * MINUTE_MS);

    expect(before).toHaveLength(10);
    const changes = events().filter(({ type }) => type === 'Operation State Changed');
    expect(idsOf(changes.slice(10))).toEqual(new Set(missed.map(({ id }) => id)));
    expect(changes).toHaveLength(15);
  });

  test('in which a list that is not newest first was not read', async () => {
    const random = seededRandom(43);
    const { script, poll, pass, events, expire, restart } = anAccount();
    script.pageRowsMax = () => 10;
    const ended = (newestMs: number, oldestMs: number) =>
      endedOperations(30, random, { newestMs, oldestMs }).toReversed();
    script.operations = ended(START_MS - MINUTE_MS, START_MS - DAY_MS);
    await poll(2 * MINUTE_MS);
    script.operations = [...script.operations, ...ended(START_MS + 170_000, START_MS + 130_000)];
    await poll(5 * MINUTE_MS);
    const before = events();
    const missed = ended(START_MS + 20 * DAY_MS, START_MS + 600_000);
    script.operations = [...missed, ...script.operations];
    await pass(SLEEP_MS);
    expire();
    restart();
    await poll(10 * MINUTE_MS);

    expect(before).toHaveLength(30);
    expect(idsOf(events().slice(30))).toEqual(new Set(missed.map(({ id }) => id)));
    expect(events()).toHaveLength(60);
  });

  test('of which the first rows that were ever read were out of order', async () => {
    const random = seededRandom(44);
    const { script, poll, events, pass } = anAccount();
    script.pageRowsMax = () => 3;
    script.fails = ({ name }) => (name === 'operations' ? 'unavailable' : undefined);
    await poll(MINUTE_MS);
    const missed = endedOperations(40, random, {
      newestMs: START_MS + 10 * DAY_MS,
      oldestMs: START_MS + 2 * MINUTE_MS,
    }).toReversed();
    script.operations = missed;
    await pass(SLEEP_MS);
    script.fails = () => undefined;
    await poll(10 * MINUTE_MS);

    const changes = events().filter(({ type }) => type === 'Operation State Changed');
    expect(idsOf(changes)).toEqual(new Set(missed.map(({ id }) => id)));
  });
});

describe('a project that becomes visible later', () => {
  const other = 'late-river-87654321';

  const appear = async (backfill: Backfill, createdAt: string | undefined) => {
    const account = anAccount({ backfill });
    const { script, poll, pass } = account;
    await poll(MINUTE_MS);
    await pass(30 * MINUTE_MS);
    const random = seededRandom(21);
    const nowMs = account.nowMs();
    script.projectIds.push(other);
    script.createdAtOf = (projectId) => (projectId === other ? createdAt : undefined);
    const ended = endedOperations(90, random, {
      newestMs: nowMs - 1_000,
      oldestMs: nowMs - 28 * MINUTE_MS,
      projectId: other,
    });
    const open = anOperation({
      id: 'open',
      project_id: other,
      status: 'running',
      created_at: wholeSecond(nowMs - 2_000),
    });
    script.operations = [open, ...ended];
    await poll(3 * MINUTE_MS);
    return account.events().filter(({ type }) => type === 'Operation State Changed');
  };

  test.each([
    ['the list does not say when it was created', undefined],
    ['it is older than the bridge', '2025-03-01T00:00:00Z'],
  ])('is history as far as it ended before it was seen, when %s', async (_what, createdAt) => {
    const events = await appear('open', createdAt);

    expect(events.map(({ operation_id, observed_by }) => [operation_id, observed_by])).toEqual([
      ['open', 'backfill'],
    ]);
  });

  test('is history that says so, when all history is wanted', async () => {
    const events = await appear('all', undefined);

    expect(events).toHaveLength(91);
    expect(new Set(events.map(({ observed_by }) => observed_by))).toEqual(new Set(['backfill']));
  });

  test('is news from its first operation on, when it is younger than the bridge', async () => {
    const events = await appear('open', wholeSecond(START_MS + 60_000));

    expect(events).toHaveLength(91);
    expect(new Set(events.map(({ observed_by }) => observed_by))).toEqual(new Set(['poll']));
  });
});
