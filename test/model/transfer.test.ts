/** A project that several accounts can see is told once in seeded schedules, and each rule of that is needed. */

import { describe, expect, test } from 'vitest';
import { playTransfer, TRANSFER_RULES, type TransferRule } from './transfer.ts';

const SEEDS = 1_000;

/** Without the rule, this schedule breaks a promise. */
const BREAKS: Readonly<Record<TransferRule, readonly [seed: number, breaks: RegExp]>> = {
  'who lists a project that another account has waits until that one has decided': [2, /news of/],
  'a good reading is an answer when it was requested a lag after the wish': [106, /discovered B/],
  'who has found a project gone waits for the lists of others': [5, /unreachable/],
  'a closing names the wish that it has read': [694, /although it was wanted/],
  'the latest of all transfers says who had the project last': [4, /told again/],
  'what comes back to the account that had it last is not taken over': [2, /unreachable B, transferred B/],
  'who takes over closes the record from which it takes': [38, /lost/],
  'the number of who has it again by itself exceeds the marks': [19, /lost/],
  'what has moved keeps its first sight': [6, /lost/],
  'a record is marked before it goes on elsewhere': [4, /told again/],
  'a mark names the state that goes on': [19_252, /told again/],
  'nobody writes a marked record': [404, /told again/],
  'a row without a record is marked while a reading is good': [158, /told again/],
  'a mark gives way only to a later transfer': [27, /told again/],
  'a wish that nobody answers ends': [62, /news of moved: $/],
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
