/** Holds the tests that the engine asks about its sample; they are not part of `npm test`. */

import { expect, test } from 'vitest';
import { isFullAge, monthsOf, openAndClose, roundsOf, sumTo } from './sample.ts';

test('20 years are full age, 10 are not', () => {
  expect([isFullAge(20), isFullAge(10)]).toEqual([true, false]);
});

test('a year has twelve months', () => {
  expect(monthsOf(2)).toBe(24);
});

test('the sum of three numbers', () => {
  expect(sumTo(3)).toBe(6);
});

test('three rounds are counted', () => {
  expect(roundsOf(3)).toBe(3);
});

test('what is opened is closed', () => {
  expect(openAndClose()).toBe(0);
});
