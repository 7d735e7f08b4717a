import { expect, test } from 'vitest';
import { createBoundReports } from '../../../../functions/poller/account/status/report-bound.ts';
import { anInvocation } from '../invocation-under-test.ts';

test('a bound that is met is measured and logged once in an invocation', () => {
  const { deps, logs, measures } = anInvocation();
  const bounds = createBoundReports(deps.telemetry);
  bounds.report('projects', 5);
  bounds.report('projects', 5);
  bounds.report('list_pages', 7);

  expect(measures).toEqual([
    ['BoundMet', 1],
    ['BoundMet', 1],
  ]);
  expect(logs).toEqual([
    { level: 'warn', event: 'bound.met', bound: 'projects', value: 5 },
    { level: 'warn', event: 'bound.met', bound: 'list_pages', value: 7 },
  ]);
});
