import { describe, expect, test } from 'vitest';
import {
  BARREN_PAGES_MAX,
  createListing,
  LIST_PAGES_MAX,
  PROJECTS_MAX,
} from '../../../../functions/poller/planner/project-list/listing.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';

const aPage = (projectIds: readonly string[], cursor: string | undefined) => ({
  projectIds,
  unavailableProjectIds: [],
  malformedRowCount: 0,
  cursor,
});

describe('a listing', () => {
  test('goes on after a page with a few rows, whatever was asked for', () => {
    const listing = createListing(0);
    listing.take(aPage(['a'], 'a'));

    expect(listing.cursor).toBe('a');
    expect(listing.result()).toBeUndefined();
  });

  test.each([
    ['has no cursor', aPage(['b'], undefined)],
    ['is empty', aPage([], 'z')],
    ['brings no new project under the cursor that it began with', aPage(['a'], 'a')],
  ])('ends with a page that %s', (_, last) => {
    const listing = createListing(0);
    listing.take(aPage(['a'], 'a'));
    listing.take(last);

    expect(listing.result()).toMatchObject({ end: 'end' });
  });

  test('goes on after a page that shows only rows that cannot be read, or only unavailable projects', () => {
    const listing = createListing(0);
    listing.take({ ...aPage([], 'a'), malformedRowCount: 1 });
    listing.take({ ...aPage([], 'b'), unavailableProjectIds: ['sick'] });
    expect(listing.result()).toBeUndefined();
    listing.take(aPage([], undefined));

    expect(listing.result()).toMatchObject({ unavailableCount: 1, malformedRowCount: 1 });
    expect(listing.result()?.projectIds).toEqual(new Set(['sick']));
  });

  test('reads every project, with pages of any size', () => {
    const random = seededRandom(7);
    for (let round = 0; round < 50; round++) {
      const ids = Array.from({ length: Math.floor(random.next() * 300) }, (_, place) => `p${place}`);
      const listing = createListing(0);
      while (listing.result() === undefined) {
        const start = listing.cursor === undefined ? 0 : ids.indexOf(listing.cursor) + 1;
        const rows = ids.slice(start, start + 1 + Math.floor(random.next() * 20));
        listing.take(aPage(rows, rows.at(-1) ?? listing.cursor));
      }
      expect(listing.result()?.projectIds.size).toBe(ids.length);
      expect(listing.result()?.end).toBe('end');
    }
  });

  test('that goes round in circles ends at a bound', () => {
    const listing = createListing(0);
    for (let page = 0; listing.result() === undefined; page++) listing.take(aPage(['a'], `c${page % 2}`));

    expect(listing.result()).toMatchObject({ end: 'barren_pages' });
    expect(listing.pageCount).toBe(BARREN_PAGES_MAX + 1);
  });

  test('ends at its bound when it shows more projects than are polled, and not with just as many', () => {
    const ids = Array.from({ length: PROJECTS_MAX }, (_, place) => `p${place}`);
    const listing = createListing(0);
    listing.take(aPage(ids, 'a'));
    expect(listing.result()).toBeUndefined();
    listing.take(aPage(['one-more'], 'b'));

    expect(listing.result()).toMatchObject({ end: 'projects' });
  });

  test('ends at its bound of pages, and not one page earlier', () => {
    const listing = createListing(0);
    for (let page = 1; page < LIST_PAGES_MAX; page++) listing.take(aPage([`p${page}`], `p${page}`));
    expect(listing.result()).toBeUndefined();
    listing.take(aPage(['last'], 'last'));

    expect(listing.result()).toMatchObject({ end: 'list_pages' });
  });

  test.each([
    ['an unavailable project', { unavailableProjectIds: ['b'] }],
    ['a row that cannot be read', { malformedRowCount: 1 }],
  ])('goes on after a page that shows a project and %s', (_, fields) => {
    const listing = createListing(0);
    listing.take({ ...aPage(['a'], 'a'), ...fields });

    expect(listing.result()).toBeUndefined();
  });
});
