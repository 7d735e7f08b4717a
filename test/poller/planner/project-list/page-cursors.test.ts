import { describe, expect, test } from 'vitest';
import {
  createPageCursors,
  type PageCursors,
} from '../../../../functions/poller/planner/project-list/page-cursors.ts';

const endingAt = (cursor: string | undefined) => ({ isEmpty: false, cursor });
const empty = { isEmpty: true, cursor: undefined };

const cursorsOf = (pages: PageCursors) =>
  Array.from({ length: pages.count }, (_, page) => pages.cursorOf(page) ?? '(start)');

function threePages(): PageCursors {
  const pages = createPageCursors();
  pages.take(0, endingAt('m'));
  pages.take(1, endingAt('t'));
  return pages;
}

describe('the pages of a list', () => {
  test('grow from the first one, by each page that has rows and a cursor', () => {
    expect(cursorsOf(createPageCursors())).toEqual(['(start)']);
    expect(cursorsOf(threePages())).toEqual(['(start)', 'm', 't']);
  });

  test('begin where the one before ended last time', () => {
    const pages = threePages();
    pages.take(0, endingAt('k'));

    expect(cursorsOf(pages)).toEqual(['(start)', 'k', 't']);
  });

  test('keep one empty page at the end: the next project will stand on it', () => {
    const pages = threePages();
    pages.take(2, empty);

    expect(cursorsOf(pages)).toEqual(['(start)', 'm', 't']);
  });

  test('end with the first page that turns out to be empty', () => {
    const pages = threePages();
    pages.take(1, empty);

    expect(cursorsOf(pages)).toEqual(['(start)', 'm']);
  });

  test('end where no cursor leads further', () => {
    const pages = threePages();
    pages.take(0, endingAt(undefined));

    expect(cursorsOf(pages)).toEqual(['(start)']);
  });

  test('end where the cursor does not move', () => {
    const pages = threePages();
    pages.take(1, endingAt('m'));

    expect(cursorsOf(pages)).toEqual(['(start)', 'm']);
  });

  test('end where the cursor leads back to an earlier page', () => {
    const pages = threePages();
    pages.take(2, endingAt('m'));

    expect(cursorsOf(pages)).toEqual(['(start)', 'm', 't']);
  });

  test('take no notice of an answer to a page that has gone', () => {
    const pages = threePages();
    pages.take(0, empty);
    pages.take(2, endingAt('zz'));

    expect(cursorsOf(pages)).toEqual(['(start)']);
  });

  test('are bounded, whatever the upstream says', () => {
    const pages = createPageCursors(30);
    for (let page = 0; page < 60; page++) pages.take(page, endingAt(`c${page}`));

    expect(pages.count).toBe(30);
  });

  test('take no notice of an answer to the first page that does not exist', () => {
    const pages = threePages();
    pages.take(3, endingAt('z'));

    expect(cursorsOf(pages)).toEqual(['(start)', 'm', 't']);
  });

  test('end with an empty page that has a cursor', () => {
    const pages = threePages();
    pages.take(1, { isEmpty: true, cursor: 'q' });

    expect(cursorsOf(pages)).toEqual(['(start)', 'm']);
  });

  test('stay when a page ends where a later page begins, since the pages between may be gone', () => {
    const pages = threePages();
    pages.take(0, endingAt('t'));

    expect(cursorsOf(pages)).toEqual(['(start)', 't', 't']);
  });
});
