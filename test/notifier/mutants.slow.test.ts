/** Tests the notifier's tests: each deliberate mistake must turn them red. */

import { afterAll, describe, expect, test } from 'vitest';
import { createMutantRuns } from '../mutation/mutant-runs.ts';
import { mutants } from './mutants.ts';

const runs = createMutantRuns('test/notifier/mutants.ts');

afterAll(() => runs.end());

describe("the notifier's tests", () => {
  test.for(mutants)('notice when $mistake ($name)', { timeout: 120_000 }, async ({ name }) => {
    const errors = await runs.errorsWith(name);

    expect(errors.join('\n')).toMatch(/AssertionError|Test timed out/);
    expect(errors.join('\n')).not.toMatch(/fits \d+ places/);
  });

  test('are green again without the mistake', { timeout: 120_000 }, async () => {
    expect(await runs.errorsWithout('no-rest')).toEqual([]);
  });
});
