/** Puts each named mistake into the protocol, and asks whether the checker of the close world and the protocol's model notice it. */

import { describe, test } from 'vitest';
import { mutants } from './mutants.ts';
import { runInProcess } from './run-in-process.ts';

/** A search goes on behind the seed that noticed the mistake first, because the code makes other calls from day to day. */
const SEEDS_MAX = '300';

/** The model sees what is done. These mistakes are about what is left undone, or about what an event says. */
const OUT_OF_MODEL: ReadonlySet<string> = new Set([
  'no-sweep',
  'event-from-current-state',
  'unlisted-not-read',
  'derived-once-a-process',
  'other-operations-not-read',
  'a-compute-changes-twice',
]);

/** No promise is broken by these in the 300 runs behind their seeds. The model does not allow what they do. */
const OUT_OF_CHECKER: ReadonlySet<string> = new Set(['upstream-before-store', 'watermark-before-record']);

describe('the checker', () => {
  test.concurrent.for(mutants)(
    'notices when $mistake ($name)',
    { timeout: 600_000 },
    async ({ name, noticedBy = 1 }, { expect: expectHere }) => {
      const search = ['--from', String(noticedBy), '--seeds', SEEDS_MAX, '--jobs', '1', '--stop-at-first'];
      const result = await runInProcess([...search, '--world', 'close'], name);

      if (!OUT_OF_CHECKER.has(name)) expectHere(result.failures.length).toBeGreaterThan(0);
      if (!OUT_OF_MODEL.has(name)) expectHere(result.rejected.length).toBeGreaterThan(0);
    },
  );
});
