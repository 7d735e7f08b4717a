/** Holds a test that the engine cannot ask, because it is green only once in a process. */

import { expect, test } from 'vitest';
import { isFullAge } from './sample.ts';

test('something that happens once in a process', () => {
  const seen = globalThis as { hasHappened?: boolean };

  expect([isFullAge(20), seen.hasHappened]).toEqual([true, undefined]);
  seen.hasHappened = true;
});
