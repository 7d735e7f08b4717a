import { expect, test } from 'vitest';
import { createRequestLimits } from '../../infra/simulator/faults.ts';

test('the 41st request within a second on one route is refused, and other routes are not', () => {
  const limits = createRequestLimits();
  const admitted = Array.from({ length: 41 }, (_, place) => limits.admit('GET /projects', place * 10));

  expect(admitted.indexOf(false)).toBe(40);
  expect(limits.admit('GET /projects/:id', 410)).toBe(true);
  expect(limits.admit('GET /projects', 1_001)).toBe(true);
});

test('the 701st request within a minute is refused on any route', () => {
  const limits = createRequestLimits();
  const admitted = Array.from({ length: 701 }, (_, place) => limits.admit(`route ${place % 2}`, place * 50));

  expect(admitted.indexOf(false)).toBe(700);
  expect(limits.admit('route 2', 59_000)).toBe(false);
  expect(limits.admit('route 2', 60_001)).toBe(true);
});

test('a refused request does not count', () => {
  const limits = createRequestLimits();
  for (let count = 0; count < 200; count++) limits.admit('GET /projects', 0);

  expect(limits.admit('GET /projects', 1_000)).toBe(true);
});
