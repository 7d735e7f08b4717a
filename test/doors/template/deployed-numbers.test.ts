/**
 * Holds every number that the deployed bridge behaves by. `deployed-numbers.txt` is changed only by hand: a number that
 * changes there is a decision, and its line shows what it was.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { synthesize } from '../../aws/stack-under-test.ts';
import { deployedNumbers } from './deployed-numbers.ts';

const decided = readFileSync(join(import.meta.dirname, 'deployed-numbers.txt'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

test('the template of the example has the numbers that were decided, and no others', () => {
  const deployed = deployedNumbers(synthesize().resources);

  expect({
    'deployed and not decided': deployed.filter((line) => !decided.includes(line)),
    'decided and not deployed': decided.filter((line) => !deployed.includes(line)),
  }).toEqual({ 'deployed and not decided': [], 'decided and not deployed': [] });
  expect(deployed).toHaveLength(decided.length);
});
