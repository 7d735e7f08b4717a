import { describe, expect, test } from 'vitest';
import { createPageTurns } from '../../../../functions/poller/planner/project-list/page-turns.ts';
import { createTurnSlots } from '../../../../functions/poller/planner/queues/turn-slots.ts';
import { turnSlots } from '../queues/turns.ts';

const MINUTE_MS = 60_000;
const listing = { intervalMsMax: MINUTE_MS, hintIntervalMsMin: 1_000 };
const shown = (cursor: string | undefined) => ({ isEmpty: false, cursor });

describe('the turns of the pages', () => {
  test('begin with the first page, once it was read', () => {
    const pages = createPageTurns(listing, 600, turnSlots);
    expect(pages.turns).toEqual([]);
    const { added, gone } = pages.take(0, shown(undefined));

    expect(added).toMatchObject([{ id: '(page 0 of the project list)', page: 0, cold: 0 }]);
    expect(gone).toEqual([]);
    expect(pages.turns).toEqual(added);
  });

  test('follow the list as it grows and shrinks', () => {
    const pages = createPageTurns(listing, 600, turnSlots);
    const [first] = pages.take(0, shown('a')).added;
    const [third] = pages.take(1, shown('b')).added;
    expect(pages.turns.map(({ page }) => page)).toEqual([0, 1, 2]);
    expect([pages.cursorOf(0), pages.cursorOf(1), pages.cursorOf(2)]).toEqual([undefined, 'a', 'b']);
    const { added, gone } = pages.take(1, shown(undefined));

    expect([added, gone]).toEqual([[], [third]]);
    expect(pages.turns.map(({ page }) => page)).toEqual([0, 1]);
    expect(pages.turns[0]).toBe(first);
  });

  test('give their numbers back with the pages that are gone', () => {
    const slots = createTurnSlots();
    const pages = createPageTurns(listing, 600, slots);
    pages.take(0, shown('a'));
    pages.take(0, shown(undefined));

    expect(slots.take()).toBe(1);
  });

  test('are none when the list is never read, and no page is ever due', () => {
    const pages = createPageTurns(undefined, 600, turnSlots);

    expect(pages.take(0, shown('a'))).toEqual({ added: [], gone: [] });
    expect(pages.turns).toEqual([]);
    expect(pages.intervalMs()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('the interval of a page', () => {
  const intervalMs = (pageCount: number, requestsPerMinute: number) => {
    const pages = createPageTurns(listing, requestsPerMinute, turnSlots);
    for (let page = 0; page < pageCount - 1; page++) pages.take(page, shown(`c${page}`));
    return pages.intervalMs();
  };

  test('is the usual one for a short list', () => {
    expect(intervalMs(1, 600)).toBe(MINUTE_MS);
    expect(intervalMs(3, 600)).toBe(MINUTE_MS);
  });

  test('is as long as a two-hundredth of the limit needs for all pages', () => {
    expect(intervalMs(6, 600)).toBe(2 * MINUTE_MS);
  });

  test('is at most five times the usual one', () => {
    expect(intervalMs(60, 600)).toBe(5 * MINUTE_MS);
  });
});
