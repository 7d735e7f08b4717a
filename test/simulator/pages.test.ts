import { assert, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cursorOf, microsecondsOf, operationPage, projectPage } from '../../infra/simulator/routes/rows.ts';
import { aWorld, busiestProject, START_MS } from './upstream-under-test.ts';

const world = aWorld({ projectCount: 12 });
const { operations } = busiestProject(world);
const always = () => true;

function walk(limit: number, list = operations): readonly string[] {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages <= list.length + 1; pages++) {
    const page = operationPage(list, { limit: String(limit), cursor }, always);
    if (page.kind === 'invalid') throw new Error(page.message);
    ids.push(...page.items.map(({ id }) => id));
    if (page.cursor === undefined) return ids;
    cursor = page.cursor;
  }
  throw new Error('The walk did not end');
}

describe('a list of operations', () => {
  test.each([1, 2, 7, 100, 1_000])('read in pages of %i loses and repeats no operation', (limit) => {
    expect(walk(limit)).toEqual(operations.map(({ id }) => id).toReversed());
  });

  test('loses the second of two operations with equal creation times at the end of a page, as the service can', () => {
    const tied = operations.slice(0, 2).map((op) => ({ ...op, created_us: START_MS * 1_000 }));

    expect(walk(1, tied)).toHaveLength(1);
  });

  test('is complete without a limit', () => {
    const page = operationPage(operations, {}, always);

    expect(page).toMatchObject({ kind: 'page', items: { length: operations.length } });
  });

  test('has a cursor even when nothing follows, and none when it is empty', () => {
    const whole = operationPage(operations, { limit: '1000' }, always);
    const empty = operationPage([], { limit: '1000' }, always);

    expect(whole).toMatchObject({ cursor: cursorOf(operations[0]?.created_us ?? 0) });
    expect(empty).toEqual({ kind: 'page', items: [], cursor: undefined });
  });

  test.each(['0', '1001', '-1', '1.5', 'ten', ''])('refuses the limit "%s"', (limit) => {
    expect(operationPage(operations, { limit }, always)).toEqual({
      kind: 'invalid',
      message: 'invalid request: limit must be between 1 and 1000',
    });
  });

  test('begins with the newest operation when the cursor is empty', () => {
    expect(operationPage(operations, { cursor: '' }, always)).toEqual(operationPage(operations, {}, always));
  });

  test.each(['yesterday', '2026-01-15', '2026-13-41T25:00:00Z', '2026-01-15T12:00:00+01:00'])(
    'refuses the cursor "%s"',
    (cursor) => expect(operationPage(operations, { cursor }, always).kind).toBe('invalid'),
  );
});

describe('a cursor', () => {
  test('is the creation time in microseconds without trailing zeros', () => {
    expect(cursorOf(START_MS * 1_000)).toBe('2026-01-15T12:00:00Z');
    expect(cursorOf(START_MS * 1_000 + 204_170)).toBe('2026-01-15T12:00:00.20417Z');
    expect(cursorOf(START_MS * 1_000 + 1)).toBe('2026-01-15T12:00:00.000001Z');
  });

  test('is parsed exactly to the microsecond', () => {
    const microseconds = integer({ min: 0, max: 4_000_000_000_000_000 });
    assert(property(microseconds, (us) => microsecondsOf(cursorOf(us)) === us));
  });
});

describe('a list of projects', () => {
  const all = world.projects().map(({ id }) => id);

  test('has ten projects by default, in the order of their ids', () => {
    const page = projectPage(world.projects(), {});

    expect(page).toMatchObject({ cursor: all[9] });
    expect(page.kind === 'page' && page.items.map(({ id }) => id)).toEqual(all.slice(0, 10));
  });

  test('continues after the id in the cursor', () => {
    const page = projectPage(world.projects(), { limit: '400', cursor: all[9] });

    expect(page.kind === 'page' && page.items.map(({ id }) => id)).toEqual(all.slice(10));
  });

  test('contains only the projects that match a search', () => {
    const page = projectPage(world.projects(), { search: all[3] });

    expect(page.kind === 'page' && page.items.map(({ id }) => id)).toEqual([all[3]]);
  });

  test.each(['0', '401'])('refuses the limit %s', (limit) => {
    expect(projectPage(world.projects(), { limit }).kind).toBe('invalid');
  });
});
