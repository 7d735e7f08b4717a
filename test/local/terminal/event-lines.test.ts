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
