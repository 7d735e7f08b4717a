/** Puts each named mistake into the protocol, and asks whether the checker of the close world notices it. */

import { describe, expect, test } from 'vitest';
import { mutants } from './mutants.ts';
import { runInProcess } from './run-in-process.ts';

/** A search goes on behind the seed that noticed the mistake first, because the code makes other calls from day to day. */
const SEEDS_MAX = '300';

describe('the checker', () => {
  const noticed = mutants.filter(({ isOutOfSight }) => isOutOfSight !== true);

  test.concurrent.for(noticed)(
    'notices when $mistake ($name)',
    { timeout: 600_000 },
    async ({ name, noticedBy = 1 }, { expect: expectHere }) => {
      const search = ['--from', String(noticedBy), '--seeds', SEEDS_MAX, '--jobs', '1', '--stop-at-first'];
      const result = await runInProcess([...search, '--world', 'close'], name);

      expectHere(result.failures.length).toBeGreaterThan(0);
    },
  );

  test('has one mistake out of its sight, which docs/simulation.md names', () => {
    expect(mutants.filter(({ isOutOfSight }) => isOutOfSight === true)).toHaveLength(1);
  });
});
