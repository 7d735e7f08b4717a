/** Tests what counting needs of a table, whatever it is made of. */

import { expect, test } from 'vitest';
import { createCommandUsage, readCommandUsage } from '../../shared/store/command-usage.ts';
import type { Table, TableCounters } from '../../shared/store/table.ts';

export function describeCounters(name: string, open: () => readonly [Table, TableCounters]): void {
  const of = (requestCount: number, window = 7) => ({
    requestCount,
    window,
    members: new Map([
      ['a', requestCount],
      ['b', 1],
    ]),
  });

  test(`everything that any process counts is in the sum, on ${name}`, async () => {
    const [table, counters] = open();
    const here = createCommandUsage(counters, 'counted');
    const there = createCommandUsage(counters, 'counted');
    expect(await readCommandUsage(table, 'counted')).toBe(0);

    expect(await here.note(of(1))).toMatchObject({ requestCount: 1, window: 7, writeCount: 2 });
    const sums = await Promise.all(Array.from({ length: 20 }, () => there.note(of(2))));

    expect(Math.max(...sums.map(({ requestCount }) => requestCount))).toBe(41);
    expect(new Set(sums.map(({ requestCount }) => requestCount)).size).toBe(20);
    expect(Math.max(...sums.map(({ members }) => members.get('a') ?? 0))).toBe(41);
    expect(Math.max(...sums.map(({ members }) => members.get('b') ?? 0))).toBe(21);
    expect(new Set(sums.map(({ writeCount }) => writeCount))).toEqual(new Set([1]));
    expect(await readCommandUsage(table, 'counted')).toBe(41);
    expect(await readCommandUsage(table, 'another')).toBe(0);
  });

  test(`counts of callers start over once with each window, and the sum of all does not, on ${name}`, async () => {
    const [, counters] = open();
    const here = createCommandUsage(counters, 'windows');
    const there = createCommandUsage(counters, 'windows');
    await here.note(of(5));
    await there.note(of(5));

    const late = [await here.note(of(1, 8)), await there.note(of(1, 8))];
    const started = await here.note(of(1, 8));
    const joined = await there.note(of(1, 8));
    const behind = await createCommandUsage(counters, 'windows').note(of(1, 7));

    expect(late.map(({ window, members }) => [window, members.size])).toEqual([
      [7, 0],
      [7, 0],
    ]);
    expect([started.window, started.members.get('a'), started.requestCount]).toEqual([8, 1, 13]);
    expect([joined.window, joined.members.get('a'), joined.writeCount]).toEqual([8, 2, 2]);
    expect([behind.window, behind.members.get('a')]).toEqual([8, 3]);
  });

  test(`requests are counted without any caller, on ${name}`, async () => {
    const [, counters] = open();

    const sums = await createCommandUsage(counters, 'alone').note({
      requestCount: 3,
      window: 1,
      members: new Map(),
    });

    expect(sums).toMatchObject({ requestCount: 3, members: new Map() });
  });

  const noted = { requestCount: 0, members: new Map<string, number>(), window: 7 };
  /** Asks for up to ten permits that stand in the future. */
  const asked = (nowMs: number, count: number) => ({
    nowMs,
    intervalMs: 100,
    quietCount: count,
    busyCount: count,
    latestMs: nowMs + 1_000,
  });

  test(`permits stand one behind the other, from whichever process they are asked, on ${name}`, async () => {
    const [, counters] = open();
    const usages = [1, 2, 3, 4].map(() => createCommandUsage(counters, 'permits'));

    const granted = await Promise.all(usages.map((usage) => usage.noteAndAsk(noted, asked(5_000, 2))));

    const places = granted.map((grant) => 'nextAtMs' in grant && grant.nextAtMs);
    expect(places.map(Number).toSorted((a, b) => a - b)).toEqual([5_200, 5_400, 5_600, 5_800]);
  });

  test(`there are none further ahead than they may be, and then nothing is noted, on ${name}`, async () => {
    const [table, counters] = open();
    const here = createCommandUsage(counters, 'ahead');
    const there = createCommandUsage(counters, 'ahead');
    const one = { ...noted, requestCount: 1 };
    await here.noteAndAsk(one, asked(5_000, 10));

    expect(await there.noteAndAsk(one, asked(5_000, 2))).toEqual({ permitCount: 0, writeCount: 2 });
    expect(await readCommandUsage(table, 'ahead')).toBe(1);
    expect(await here.noteAndAsk(one, asked(5_000, 1))).toMatchObject({ permitCount: 1, writeCount: 1 });
    expect(await here.noteAndAsk(one, asked(5_000, 1))).toEqual({ permitCount: 0, writeCount: 1 });
    expect(await there.note(one)).toMatchObject({ nextAtMs: 6_100, requestCount: 3 });
  });

  test(`what is behind the present is not saved up, and a time that is far ahead is not believed, on ${name}`, async () => {
    const [, counters] = open();
    const usage = createCommandUsage(counters, 'times');
    await usage.noteAndAsk(noted, asked(5_000, 3));

    expect(await usage.noteAndAsk(noted, asked(9_000, 1))).toMatchObject({ nextAtMs: 9_100 });
    await usage.noteAndAsk(noted, asked(9_000_000, 1));
    expect(await usage.noteAndAsk(noted, asked(10_000, 1))).toMatchObject({ nextAtMs: 10_100 });
  });
}
