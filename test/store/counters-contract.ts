/** What counting needs of a table, whatever it is made of. */

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

  test(`everything that anybody counts is in the sum, on ${name}`, async () => {
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
}
