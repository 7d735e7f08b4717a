import { describe, expect, test } from 'vitest';
import { createListPages, LIST_PAGES_MAX, type ListPages } from '../../shared/core/list-pages.ts';

const full = (cursor: string) => ({ isEmpty: false, isFull: true, cursor });
const short = (cursor: string) => ({ isEmpty: false, isFull: false, cursor });
const empty = { isEmpty: true, isFull: false, cursor: undefined };

const cursorsOf = (pages: ListPages) =>
  Array.from({ length: pages.count }, (_, page) => pages.cursorOf(page) ?? '(start)');

function threePages(): ListPages {
  const pages = createListPages();
  pages.note(0, full('m'));
  pages.note(1, full('t'));
  pages.note(2, short('z'));
  return pages;
}

describe('the pages of a list', () => {
  test('grow from the first one, by each full page', () => {
    expect(cursorsOf(createListPages())).toEqual(['(start)']);
    expect(cursorsOf(threePages())).toEqual(['(start)', 'm', 't']);
  });

  test('begin where the one before ended last time', () => {
    const pages = threePages();
    pages.note(0, full('k'));

    expect(cursorsOf(pages)).toEqual(['(start)', 'k', 't']);
  });

  test('stay when a page in the middle is short: it may be a partial answer', () => {
    const pages = threePages();
    pages.note(1, short('s'));

    expect(cursorsOf(pages)).toEqual(['(start)', 'm', 's']);
  });

  test('end with a page that turns out to be empty behind a short one', () => {
    const pages = threePages();
    pages.note(1, short('s'));
    pages.note(2, empty);

    expect(cursorsOf(pages)).toEqual(['(start)', 'm']);
  });

  test('keep one empty page behind a full one: the next project will stand on it', () => {
    const pages = threePages();
    pages.note(2, empty);

    expect(cursorsOf(pages)).toEqual(['(start)', 'm', 't']);
  });

  test('end where no cursor leads further', () => {
    const pages = threePages();
    pages.note(0, { isEmpty: false, isFull: true, cursor: undefined });

    expect(cursorsOf(pages)).toEqual(['(start)']);
  });

  test('take no notice of an answer to a page that has gone', () => {
    const pages = threePages();
    pages.note(0, empty);
    pages.note(2, full('zz'));

    expect(cursorsOf(pages)).toEqual(['(start)']);
  });

  test('are bounded, whatever the upstream says', () => {
    const pages = createListPages();
    for (let page = 0; page < 2 * LIST_PAGES_MAX; page++) pages.note(page, full(`c${page}`));

    expect(pages.count).toBe(LIST_PAGES_MAX);
  });
});
