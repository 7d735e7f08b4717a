/** Runs the wide world with the first seeds that have foreign faults. */

import { expect, test } from 'vitest';
import { FOREIGN_FROM } from './foreign-from.ts';
import { runInProcess as run } from './run-in-process.ts';

test('keeps the promise in 420 runs of the wide world, in which every kind of fault fires', {
  timeout: 600_000,
}, async () => {
  const result = await run(['--seeds', '420', '--from', String(FOREIGN_FROM), '--world', 'wide']);

  expect(result.failures).toEqual([]);
  expect(result.rejected).toEqual([]);
  expect(result.silent).toEqual([]);
});
