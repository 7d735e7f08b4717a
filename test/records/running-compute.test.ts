import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runningComputesOf } from '../../shared/records/compute-state.ts';

const row = {
  id: 'ep-quiet-pond-12345678',
  current_state: 'active',
  last_active: '2026-01-15T12:00:00Z',
  suspend_timeout_seconds: 600,
};

test('a running compute says when it was last active and when it is suspended', () => {
  expect(runningComputesOf([row])).toEqual([
    { id: row.id, lastActiveMs: Date.UTC(2026, 0, 15, 12), suspendAfterMs: 600_000 },
  ]);
});

test.each([
  ['0 stands for five minutes', 0, 300_000],
  ['-1 stands for never', -1, Number.POSITIVE_INFINITY],
  ['an absent time-out counts as five minutes', undefined, 300_000],
  ['a time-out that is no number counts as five minutes', 'soon', 300_000],
])('%s', (_, seconds, suspendAfterMs) => {
  expect(runningComputesOf([{ ...row, suspend_timeout_seconds: seconds }])).toMatchObject([
    { suspendAfterMs },
  ]);
});

test.each([
  ['absent', undefined],
  ['the time that stands for never', '2000-01-01T00:00:00Z'],
  ['no time', 'yesterday'],
  ['a number', 5],
])('a last activity that is %s is not known', (_, lastActive) => {
  const [compute] = runningComputesOf([{ ...row, last_active: lastActive }]);
  expect(compute).toMatchObject({ id: row.id, lastActiveMs: undefined });
});

test('computes that are idle or are being suspended do not run', () => {
  expect(
    runningComputesOf([
      { ...row, current_state: 'idle' },
      { ...row, pending_state: 'idle' },
    ]),
  ).toEqual([]);
  expect(runningComputesOf([{ ...row, pending_state: 'active' }])).toHaveLength(1);
});

test.each([
  ['nothing', null],
  ['a string', 'active'],
  ['a number', 5],
  ['a row without an id', { ...row, id: undefined }],
  ['a row whose id is a number', { ...row, id: 5 }],
])('%s is left out', (_, odd) => {
  expect(runningComputesOf([odd])).toEqual([]);
});

test('rows of any form never fail, and hide no other row', () => {
  fc.assert(
    fc.property(fc.array(fc.anything()), (odd) => {
      expect(runningComputesOf([...odd, row]).at(-1)?.id).toBe(row.id);
    }),
  );
});
