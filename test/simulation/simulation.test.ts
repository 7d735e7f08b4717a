import { describe, expect, test } from 'vitest';
import { FOREIGN_FROM } from './foreign-from.ts';
import { runInProcess as run } from './run-in-process.ts';
import { simulate } from './simulate.ts';
import { simulateWide } from './wide/simulate-wide.ts';

/** From this seed on runs have foreign faults, too. */
const FOREIGN = String(FOREIGN_FROM);

describe('the protocol under simulation', () => {
  // Every stop runs 1,700 more of them (.ci/run).
  test('keeps the promise in 300 hostile runs, in which every kind of fault fires', {
    timeout: 600_000,
  }, async () => {
    const result = await run(['--seeds', '300', '--from', FOREIGN, '--world', 'close']);

    expect(result.failures).toEqual([]);
    expect(result.rejected).toEqual([]);
    expect(result.seedCount).toBe(300);
    expect(result.silent).toEqual([]);
  });

  test('replays a seed exactly', async () => {
    const first = await simulate(42);
    const second = await simulate(42);

    expect(second.delivered).toEqual(first.delivered);
    expect(first.delivered.length).toBeGreaterThan(0);
  });
});

describe('the wide world', () => {
  test('replays a seed exactly, to the last line of its trace', async () => {
    const traceOf = async () => {
      const lines: string[] = [];
      const { eventCount } = await simulateWide(42, { trace: (line) => lines.push(JSON.stringify(line)) });
      return { lines, eventCount };
    };
    const first = await traceOf();
    const second = await traceOf();

    expect(second).toEqual(first);
    expect(first.eventCount).toBeGreaterThan(0);
  });
});
