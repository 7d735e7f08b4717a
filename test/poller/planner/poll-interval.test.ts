import { describe, expect, test } from 'vitest';
import {
  listIntervalMsFor,
  pacedLimits,
  pollIntervalMsFor,
} from '../../../functions/poller/planner/poll-interval.ts';

const MINUTE_MS = 60_000;

describe('the poll interval by size', () => {
  test.each([0, 1, 10])('is five seconds with %d projects', (projectCount) => {
    expect(pollIntervalMsFor(projectCount)).toBe(5_000);
  });

  test.each([50, 500, 200_000])('is a quarter of a second with %d projects', (projectCount) => {
    expect(pollIntervalMsFor(projectCount)).toBe(250);
  });

  test('falls with each project between ten and fifty, while the account is polled more often', () => {
    for (let count = 11; count <= 50; count++) {
      expect(pollIntervalMsFor(count)).toBeLessThan(pollIntervalMsFor(count - 1));
      expect(count / pollIntervalMsFor(count)).toBeGreaterThan((count - 1) / pollIntervalMsFor(count - 1));
    }
  });
});

describe('the shortest time between two readings of a page of the list', () => {
  test.each([0, 1, 10])('is a quarter of the poll interval with %d projects', (projectCount) => {
    expect(listIntervalMsFor(projectCount)).toBe(1_250);
  });

  test.each([50, 500, 200_000])('is left to the weight of the page with %d projects', (projectCount) => {
    expect(listIntervalMsFor(projectCount)).toBe(0);
  });

  test('falls with each project between ten and fifty', () => {
    for (let count = 11; count <= 50; count++)
      expect(listIntervalMsFor(count)).toBeLessThan(listIntervalMsFor(count - 1));
  });
});

describe('limits by size', () => {
  test('follow the number of projects as it changes', () => {
    let projectCount = 10;
    const listing = { intervalMsMax: MINUTE_MS, hintIntervalMsMin: 'by_size' as const };
    const limits = pacedLimits({ pollIntervalMsMin: 'by_size', listing }, () => projectCount);
    expect([limits.pollIntervalMsMin, limits.listing?.hintIntervalMsMin]).toEqual([5_000, 1_250]);
    projectCount = 50;

    expect([limits.pollIntervalMsMin, limits.listing?.hintIntervalMsMin]).toEqual([250, 0]);
    expect(limits.listing?.intervalMsMax).toBe(MINUTE_MS);
  });

  test('stay as they are when they are set, and so does a list that is not read or gives no hints', () => {
    const listing = { intervalMsMax: MINUTE_MS, hintIntervalMsMin: undefined };

    expect(pacedLimits({ pollIntervalMsMin: 7, listing }, () => 50)).toMatchObject({
      pollIntervalMsMin: 7,
      listing,
    });
    expect(pacedLimits({ pollIntervalMsMin: 7, listing: undefined }, () => 50).listing).toBeUndefined();
  });
});
