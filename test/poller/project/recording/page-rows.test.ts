import { describe, expect, test } from 'vitest';
import { settledRowsOf } from '../../../../functions/poller/project/memory/settled-rows.ts';
import { sortRows, uniqueRows } from '../../../../functions/poller/project/recording/page-rows.ts';
import { startWalk } from '../../../../functions/poller/walk-plan/page-walk.ts';
import type { Timestamp } from '../../../../shared/core/time/timestamp.ts';
import { anOperation, aRecord } from '../../../builders.ts';

const limits = { firstPageRows: 100, widePageRows: 1_000, pagesMax: 20, overlapMs: 300_000 };
const bound = '2026-01-15T12:00:00.000000000Z' as Timestamp;
const walk = startWalk({ bound, resume: undefined }, limits);
const above = '2026-01-15T12:00:01Z';
const below = '2026-01-15T11:59:59Z';
const nothing = settledRowsOf(new Map());

describe('a row of a page', () => {
  test('is watched when its record was read before the page, even below the bound', () => {
    const row = anOperation({ id: 'a', created_at: below });

    const rows = sortRows([row], walk, new Map([['a', aRecord({ id: 'a' })]]), nothing);

    expect(rows).toEqual({ watched: [row], remembered: [], unread: [] });
  });

  test('is remembered in the state in which an earlier poll has seen it settled, and unread in any other', () => {
    const row = anOperation({ id: 'a', status: 'finished', created_at: above });
    const seen = (status: string) => settledRowsOf(new Map([['a', { ...row, status }]]));

    expect(sortRows([row], walk, new Map(), seen('finished')).remembered).toEqual([row]);
    expect(sortRows([row], walk, new Map(), seen('running')).unread).toEqual([row]);
  });

  test('is unread when nothing is known of it, and left out below the bound', () => {
    const [known, old] = [
      anOperation({ id: 'a', created_at: above }),
      anOperation({ id: 'b', created_at: below }),
    ];

    expect(sortRows([known, old], walk, new Map(), nothing)).toEqual({
      watched: [],
      remembered: [],
      unread: [known],
    });
  });

  test('that stands on the page twice is taken from its first row, at the position of that row', () => {
    const [first, second] = [anOperation({ id: 'a', status: 'finished' }), anOperation({ id: 'a' })];
    const other = anOperation({ id: 'b' });

    expect(uniqueRows([first, other, second])).toEqual([first, other]);
  });
});
