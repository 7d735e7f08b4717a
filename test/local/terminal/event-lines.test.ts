import { expect, test } from 'vitest';
import { createEventLines } from '../../../infra/local/event-lines.ts';

const anEvent = (account_id: string) => ({
  'detail-type': 'Operation State Changed',
  detail: {
    account_id,
    project_id: 'icy-hat-70322459',
    action: 'start_compute',
    previous_status: 'running',
    status: 'finished',
    observed_at: '2026-01-15T12:00:03.000Z',
  },
});

const MAIN = '12:00:03  icy-hat-70322459              start_compute        running -> finished';

test('a line has no account while there is one, and all lines have theirs from the second account on', () => {
  const linesOf = createEventLines({ isColoured: false });
  const lines = ['main', 'main', 'tenant-7', 'main'].map((id) =>
    linesOf(anEvent(id)).map((line) => line.trimEnd()),
  );

  expect(lines).toEqual([
    [MAIN],
    [MAIN],
    [
      'time      account           project                       action               change                    detected after',
      '12:00:03  tenant-7          icy-hat-70322459              start_compute        running -> finished',
    ],
    ['12:00:03  main              icy-hat-70322459              start_compute        running -> finished'],
  ]);
});

test('what had failed before the bridge watched is one line, and a new failure has its own', () => {
  const linesOf = createEventLines({ isColoured: false });
  const failed = (more: object) => ({
    ...anEvent('main'),
    detail: { ...anEvent('main').detail, previous_status: null, status: 'failed', ...more },
  });
  const watched = {
    'detail-type': 'Account Watched',
    detail: { account_id: 'main', observed_at: '2026-01-15T12:00:09.000Z', failing_count: 22 },
  };

  expect(linesOf(watched)).toHaveLength(1);
  for (let count = 0; count < 2; count++) expect(linesOf(failed({ observed_by: 'backfill' }))).toEqual([]);
  expect(linesOf(watched).at(-1)?.trim()).toBe('2 operations had failed before; they are history');
  expect(linesOf(failed({ observed_by: 'poll' }))[0]).toMatch(/start_compute +new -> failed/);
  expect(createEventLines({ isColoured: false }, true)(failed({ observed_by: 'backfill' }))).toHaveLength(1);
});
