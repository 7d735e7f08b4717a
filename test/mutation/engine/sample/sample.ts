/** Is mutated by the test of the engine: each function has mutants that end in a way of their own. */

import { countRounds, ENDLESS } from './count-rounds.ts';

export function isFullAge(years: number): boolean {
  if (years > 200) throw new Error('Nobody is so old');
  return years >= 18;
}

/** This code runs while the file is loaded. */
const MONTHS = 6 * 2;

export function monthsOf(years: number): number {
  return years * MONTHS;
}

/** A mutant of the loop never ends by itself; its switch counts the rounds. */
export function sumTo(count: number): number {
  let sum = 0;
  for (let each = count; each > 0; each--) sum += each;
  return sum;
}

/** A mutant counts for ever in code that has no switches. */
export function roundsOf(roundCount: number): number {
  return countRounds(roundCount > 2 ? 3 : ENDLESS);
}

let openCount = 0;

/** A mutant leaves something open, which later tests see. */
export function openAndClose(): number {
  openCount++;
  openCount--;
  return openCount;
}
