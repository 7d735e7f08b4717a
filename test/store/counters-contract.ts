/** What counting needs of a table, whatever it is made of. */

import { expect, test } from 'vitest';
import { createCommandUsage, readCommandUsage } from '../../shared/store/command-usage.ts';
import type { Table, TableCounters } from '../../shared/store/table.ts';

export function describeCounters(name: string, open: () => readonly [Table, TableCounters]): void {
  test(`everything that anybody counts is in the sum, on ${name}`, async () => {
    const [table, counters] = open();
    const here = createCommandUsage(counters, 'counted');
    const there = createCommandUsage(counters, 'counted');
    expect(await readCommandUsage(table, 'counted')).toBe(0);

    expect(await here.add(1)).toBe(1);
    const sums = await Promise.all(Array.from({ length: 20 }, () => there.add(2)));

    expect(Math.max(...sums)).toBe(41);
    expect(new Set(sums).size).toBe(20);
    expect(await readCommandUsage(table, 'counted')).toBe(41);
    expect(await readCommandUsage(table, 'another')).toBe(0);
  });
}
