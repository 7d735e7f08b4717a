/**
 * Reads lists whose rows show whole seconds and whose cursors hold microseconds, as the service's do, and asks whether
 * a walk meets every operation, however its pages end.
 */

import { describe, expect, test } from 'vitest';
import { OVERLAPS_BELOW_MS } from '../../../functions/poller/walk-plan/overlapping-pages.ts';
import { startWalk, takePage } from '../../../functions/poller/walk-plan/page-walk.ts';
import { resumePoint } from '../../../functions/poller/walk-plan/resume-point.ts';
import { SWEEP_DEPTH_MS } from '../../../functions/poller/walk-plan/sweep-walk.ts';
import type { WalkLimits, WalkPage, WalkState } from '../../../functions/poller/walk-plan/walk-state.ts';
import type { ResumePoint } from '../../../shared/core/records/reading-progress.ts';

const limits: WalkLimits = { firstPageRows: 3, widePageRows: 8, pagesMax: 5, overlapMs: 5_000 };
const NOW_MS = Date.UTC(2026, 5, 15);
const MONTH_MS = 30 * 24 * 3_600_000;

interface Row {
  readonly id: string;
  readonly createdMs: number;
}

/** One row is new, and the others are a month old and ten seconds apart. The rows at these places share their time with the row above. */
function list(rowCount: number, tiedPlaces: readonly number[]): readonly Row[] {
  const rows: Row[] = [{ id: 'row-0', createdMs: NOW_MS }];
  for (let place = 1; place < rowCount; place++) {
    const above = rows.at(-1)?.createdMs ?? NOW_MS;
    const own = NOW_MS - MONTH_MS - place * 10_000;
    rows.push({ id: `row-${place}`, createdMs: tiedPlaces.includes(place) ? above : own });
  }
  return rows;
}

function pageOf(rows: readonly Row[], { next }: WalkState, pageRowsMax = limits.widePageRows): WalkPage {
  const belowMs = next?.cursor === undefined ? Number.POSITIVE_INFINITY : Number(next.cursor);
  const page = rows
    .filter(({ createdMs }) => createdMs < belowMs)
    .slice(0, Math.min(next?.limit ?? 0, pageRowsMax));
  return {
    operations: page.map(({ id, createdMs }) => ({ id, created_at: new Date(createdMs).toISOString() })),
    malformedRowCount: 0,
    cursor: page.at(-1)?.createdMs.toString(),
  };
}

interface Reading {
  readonly ids: ReadonlySet<string>;
  readonly requestCount: number;
  readonly pollCount: number;
  readonly hasMetDisorder: boolean;
}

const POLLS_MAX = 100;

/** Reads the list from its head to its end, in as many polls as that takes. */
function readAll(
  rows: readonly Row[],
  { pagesMax = limits.pagesMax, pageRowsMax = 8, widePageRows = limits.widePageRows } = {},
): Reading {
  const ids = new Set<string>();
  let resume: ResumePoint | undefined;
  let hasMetDisorder = false;
  let requestCount = 0;
  for (let pollCount = 1; pollCount <= POLLS_MAX; pollCount++) {
    const goal = { bound: undefined, overlapsBelowMs: OVERLAPS_BELOW_MS, resume };
    const firstPageRows = Math.min(limits.firstPageRows, widePageRows);
    let state = startWalk(goal, { ...limits, firstPageRows, widePageRows, pagesMax });
    while (state.next !== undefined) {
      state = takePage(state, pageOf(rows, state, pageRowsMax));
      requestCount += 1;
    }
    for (const id of state.seenIds) ids.add(id);
    hasMetDisorder ||= state.hasMetDisorder;
    if (state.outcome === 'complete') return { ids, requestCount, pollCount, hasMetDisorder };
    resume = resumePoint(state);
  }
  throw new Error(`the list is not read to its end in ${POLLS_MAX} polls`);
}

const places = Array.from({ length: 58 }, (_, place) => place + 2);

describe('the deep pages of a walk', () => {
  test.each([
    [1, 100],
    [1, 5],
    [2, 100],
    [2, 5],
    [3, 4],
  ])(
    'show every operation where %i rows share the microsecond above them, with %i pages a poll',
    (tiedCount, pagesMax) => {
      const missed = places.filter((place) => {
        const tied = Array.from({ length: tiedCount }, (_, index) => place + index);
        return readAll(list(65, tied), { pagesMax }).ids.size < 65;
      });

      expect(missed).toEqual([]);
    },
  );

  test('do not look like a list out of order', () => {
    expect(readAll(list(65, [20, 21])).hasMetDisorder).toBe(false);
  });

  test('cost twice the requests of a walk whose pages follow one another, and a few more', () => {
    const rows = list(401, []);

    expect(readAll(rows, { pagesMax: 1_000 }).requestCount).toBeLessThanOrEqual(2 * Math.ceil(401 / 8) + 4);
  });

  test.each([1, 2, 3, 4, 7])('are read to the end of the list with %i pages a poll', (pagesMax) => {
    expect(readAll(list(65, []), { pagesMax }).ids.size).toBe(65);
  });

  test('follow one another where the upstream puts fewer rows on them than were asked for', () => {
    const { requestCount, ids } = readAll(list(31, []), { pagesMax: 100, pageRowsMax: 2 });

    expect(ids.size).toBe(31);
    expect(requestCount).toBeLessThanOrEqual(Math.ceil(31 / 2) + 2);
  });

  test('begin where sweeps no longer read: the pages above follow one another', () => {
    const near = Array.from({ length: 33 }, (_, place) => ({
      id: `row-${place}`,
      createdMs: NOW_MS - place * 10_000,
    }));

    expect(readAll(near, { pagesMax: 100 }).requestCount).toBe(1 + Math.ceil(33 / 8) + 1);
  });
});

describe('a page of a walk is read once more with half of its rows', () => {
  /** Takes a full page whose last row was created `depthMs` before its first one. */
  const afterPageDownTo = (depthMs: number, { limit = 8, malformedRowCount = 0 } = {}) => {
    const goal = { bound: undefined, overlapsBelowMs: OVERLAPS_BELOW_MS, resume: undefined };
    const state = startWalk(goal, { ...limits, firstPageRows: limit, widePageRows: limit });
    const rowCount = limit - malformedRowCount;
    const operations = Array.from({ length: rowCount }, (_, place) => ({
      id: `row-${place}`,
      created_at: new Date(NOW_MS - (place === rowCount - 1 ? depthMs : 0)).toISOString(),
    }));
    return takePage(state, { operations, malformedRowCount, cursor: 'end' });
  };

  test('once it ends at more than half the depth of a sweep, because a sweep certainly reads what is above', () => {
    expect(afterPageDownTo(0.5 * SWEEP_DEPTH_MS).isHalved).toBe(false);
    expect(afterPageDownTo(0.5 * SWEEP_DEPTH_MS + 1).isHalved).toBe(true);
  });

  test('also when some of its rows could not be parsed', () => {
    expect(afterPageDownTo(MONTH_MS, { malformedRowCount: 3 }).isHalved).toBe(true);
  });

  test('unless it has a single row, which has no half', () => {
    expect(readAll(list(12, []), { widePageRows: 1, pagesMax: 100 })).toMatchObject({
      requestCount: 13,
      pollCount: 1,
    });
  });
});

describe('a walk that is cut short between overlapping pages', () => {
  const rows = list(65, []);
  const start = startWalk(
    { bound: undefined, overlapsBelowMs: OVERLAPS_BELOW_MS, resume: undefined },
    limits,
  );
  const taken = (count: number) => {
    let state = start;
    for (let page = 0; page < count; page++) state = takePage(state, pageOf(rows, state));
    return state;
  };

  test('says how deep it has recorded, which is below the cursor at which it continues', () => {
    const state = taken(3);

    expect(state.next).toEqual({ cursor: String(rows[3]?.createdMs), limit: 8 });
    expect(resumePoint(state)).toMatchObject({
      cursor: String(rows[3]?.createdMs),
      lowest: new Date(rows[7]?.createdMs ?? 0).toISOString().replace('.000Z', '.000000000Z'),
    });
  });

  test('continues where its last page began when the half page is not answered', () => {
    const state = taken(2);

    expect(state).toMatchObject({ isHalved: true, next: { cursor: undefined, limit: 4 } });
    expect(resumePoint(state)?.cursor).toBe(String(rows[2]?.createdMs));
  });
});
