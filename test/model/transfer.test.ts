/** A project that two accounts can see is told once in seeded schedules, and each rule of that is needed. */

import { describe, expect, test } from 'vitest';
import { playTransfer, TRANSFER_RULES, type TransferRule } from './transfer.ts';

const SEEDS = 1_000;

/** Without the rule, this schedule breaks a promise. */
const BREAKS: Readonly<Record<TransferRule, readonly [seed: number, breaks: RegExp]>> = {
  'who lists a project that another account has waits until that one has decided': [1, /transferred|lost/],
  'a good reading is an answer when it was requested a lag after the wish': [381, /discovered B/],
  'who has found a project gone waits for the lists of others': [5, /unreachable/],
  'a closing names the wish that it has read': [914, /although it was wanted/],
  'what has moved keeps its first sight': [61, /lost/],
  'a record is marked before it goes on elsewhere': [2, /told again/],
  'a mark names the state that goes on': [1_344, /told again/],
  'nobody writes a marked record': [2_368, /told again/],
  'a row without a record is marked while a reading is good': [228, /told again/],
  'a mark gives way only to a later transfer': [3_454, /told again/],
  'a wish that nobody answers ends': [52, /news of moved: $/],
};

test(`nothing is lost and nothing told twice in ${SEEDS} schedules`, () => {
  const broken = Array.from({ length: SEEDS }, (_, place) => playTransfer({ seed: place + 1 })).flatMap(
    ({ violations }, place) => violations.map((violation) => `seed ${place + 1}: ${violation}`),
  );

  expect(broken).toEqual([]);
});

describe('a promise is broken without the rule that', () => {
  test.each(TRANSFER_RULES)('%s', (without) => {
    const [seed, breaks] = BREAKS[without];

    expect(playTransfer({ seed }).violations).toEqual([]);
    expect(playTransfer({ seed, without }).violations.join('\n')).toMatch(breaks);
  });
});
