import { describe, expect, test } from 'vitest';
import {
  type KnownPage,
  latelyShown,
  listedStride,
  pageIntensity,
  withReading,
} from '../../../../functions/poller/planner/project-list/page-intensity.ts';

const SECOND_MS = 1_000;

/** A page of which one transition in ten seconds is expected, and so one move in fifteen. */
const COLD_PER_MS = 1e-4;

/** Reads the page every second for an hour. `movedIn` says how many projects have moved in a second. */
function readFor(seconds: number, movedIn: (second: number) => number, coldPerMs = COLD_PER_MS): KnownPage {
  let readings = withReading(undefined, 0, 0);
  for (let second = 1; second <= seconds; second++)
    readings = withReading(readings, movedIn(second), second * SECOND_MS);
  return { coldPerMs, readings };
}

const everyFifteenSeconds = (second: number) => Number(second % 15 === 0);
const everySecond = () => 1;
const never = () => 0;
const alone = (page: KnownPage) => pageIntensity(page, latelyShown([page]));

describe('what is expected of a page of the project list', () => {
  test('is what its projects have done for days, before it was read twice', () => {
    const page = { coldPerMs: COLD_PER_MS, readings: withReading(undefined, 100, 0) };

    expect(page.readings).toEqual({ movedCount: 0, watchedMs: 0, readAtMs: 0 });
    expect(alone(page)).toBe(COLD_PER_MS);
  });

  test('stays about that while the page moves as often as expected', () => {
    const share = alone(readFor(3_600, everyFifteenSeconds)) / COLD_PER_MS;

    expect([share > 0.9, share < 1.1]).toEqual([true, true]);
  });

  test('rises with what the last minutes have shown, and falls again minutes later', () => {
    const during = alone(readFor(300, everySecond));
    const after = alone(readFor(900, (second) => (second <= 300 ? 1 : everyFifteenSeconds(second))));

    // Sixty moves in a minute are ninety transitions.
    expect(during / 1.5e-3).toBeGreaterThan(0.9);
    expect(during / 1.5e-3).toBeLessThan(1.1);
    expect(after / COLD_PER_MS).toBeLessThan(1.1);
  });

  test('falls where nothing moves any more, but not to nothing', () => {
    const page = alone(readFor(3_600, never));

    expect(page / COLD_PER_MS).toBeGreaterThan(0.3);
    expect(page / COLD_PER_MS).toBeLessThan(0.9);
  });

  test('does not follow a single move much', () => {
    expect(alone(readFor(60, (second) => Number(second === 60))) / COLD_PER_MS).toBeLessThan(1.1);
  });

  test('is nothing where there is no project', () => {
    const busy = readFor(60, everySecond);
    const empty = readFor(60, never, 0);

    expect(pageIntensity(empty, latelyShown([busy, empty]))).toBe(0);
  });
});

describe('what happens on all pages', () => {
  test('beyond their history is expected on each of them alike, also on one that has shown nothing of it yet', () => {
    const busy = readFor(300, () => 2);
    const quiet = readFor(300, never, COLD_PER_MS / 100);
    const lately = latelyShown([busy, quiet]);

    expect(lately.ratio).toBeGreaterThan(1.3);
    // Of two moves a second on two pages nearly all are beyond history: one move and a half transition a second for each page.
    expect(lately.beyondPerMs * 1_000).toBeCloseTo(1.43, 2);
    expect(pageIntensity(quiet, lately)).toBeGreaterThan(100 * quiet.coldPerMs);
  });

  test('is counted without pages that have no projects', () => {
    const busy = readFor(300, () => 2);
    const empty = readFor(300, never, 0);

    expect(latelyShown([busy, empty])).toEqual(latelyShown([busy]));
  });

  test('within three tenths of their history is the hour of the day, and leaves the pages in proportion', () => {
    const [busy, quiet] = [readFor(3_600, everyFifteenSeconds), readFor(3_600, never, COLD_PER_MS / 100)];
    const lately = latelyShown([busy, quiet]);

    expect(lately.beyondPerMs).toBe(0);
    expect(lately.ratio).toBeCloseTo(1, 1);
    expect(pageIntensity(quiet, lately) / quiet.coldPerMs).toBeCloseTo(1, 1);
  });

  test('is nothing before any page was read twice', () => {
    expect(latelyShown([])).toEqual({ ratio: 1, beyondPerMs: 0 });
  });
});

describe('the readings of a page', () => {
  test('fade: after half a minute one counts for a third', () => {
    const first = withReading(withReading(undefined, 0, 0), 6, SECOND_MS);
    const later = withReading(first, 0, 31 * SECOND_MS);

    expect(later.movedCount).toBeCloseTo(6 * Math.exp(-1), 6);
    expect(later.watchedMs).toBeCloseTo(SECOND_MS * Math.exp(-1) + 30 * SECOND_MS, 6);
    expect(later.readAtMs).toBe(31 * SECOND_MS);
  });

  test('begin anew after a pause of more than half a minute, because a project that moved often counts once', () => {
    const first = withReading(withReading(undefined, 0, 0), 6, SECOND_MS);

    expect(withReading(first, 3, 31 * SECOND_MS + 1)).toEqual({
      movedCount: 0,
      watchedMs: 0,
      readAtMs: 31 * SECOND_MS + 1,
    });
  });
});

test('what shows more, and what the list shows more surely, is read more often', () => {
  expect(listedStride(4, 0.5)).toBe(0.5);
  expect(listedStride(1, 0.5)).toBe(1);
  expect(listedStride(1, 0.8)).toBeCloseTo(0.5);
  expect(listedStride(1, 1)).toBe(0);
});
