/** This is the one file of tests that vitest itself runs in the engine, after its runner has decided the mutants. */

import { expect, test } from 'vitest';
import { readJournal, verdictsOf } from './journal.ts';
import { readPlan } from './plan.ts';

test('every mutant of the plan is decided', () => {
  const { journalFile, mutantIds } = readPlan();
  const verdicts = verdictsOf(readJournal(journalFile));

  expect(mutantIds.filter((id) => !verdicts.has(id))).toEqual([]);
});
