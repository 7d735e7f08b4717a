import { expect, test } from 'vitest';
import { isNeeded } from '../../../functions/poller/planner/polling-need.ts';

const nothing = { hasReadAll: true, hasWork: false, expectedTransitionsPerMs: 0 };

test.each([
  ['nothing is to be done', {}, false],
  ['a project was not read', { hasReadAll: false }, true],
  ['something waits', { hasWork: true }, true],
  ['one transition a minute is expected', { expectedTransitionsPerMs: 1 / 60_000 }, true],
  ['less than one transition a minute is expected', { expectedTransitionsPerMs: 1 / 60_001 }, false],
])('when %s, whether the invocation is needed is decided: %j → %s', (_what, fields, isExpected) => {
  expect(isNeeded({ ...nothing, ...fields })).toBe(isExpected);
});
