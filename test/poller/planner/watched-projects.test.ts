import { describe, expect, test } from 'vitest';
import { listedStride } from '../../../functions/poller/planner/project-list/page-intensity.ts';
import { watchedStride } from '../../../functions/poller/planner/watched-projects.ts';

describe('a project in which something is expected, where the list shows every transition', () => {
  test('is polled by itself where more than eight times as much is expected of it as of a page', () => {
    const strideOf = (ownPerMs: number) => watchedStride({ ownPerMs, pagePerMs: 1, recall: 0.99 });

    expect(strideOf(8)).toBeUndefined();
    expect(strideOf(8.01)).toBeCloseTo(listedStride(8.01, 0.99));
  });

  test('comes more often than a page by the square root of what is expected of it', () => {
    const own = watchedStride({ ownPerMs: 100, pagePerMs: 1, recall: 0.99 });

    expect(listedStride(1, 0.99) / Number(own)).toBeCloseTo(10);
  });

  test('is polled by its usual weight where the list shows less than nine tenths', () => {
    const strideAt = (recall: number) => watchedStride({ ownPerMs: 100, pagePerMs: 1, recall });

    expect(strideAt(0.899)).toBeUndefined();
    expect(strideAt(0.9)).toBeDefined();
  });

  test('is not watched while no page has projects', () => {
    expect(watchedStride({ ownPerMs: 100, pagePerMs: Number.POSITIVE_INFINITY, recall: 1 })).toBeUndefined();
  });

  /** The delay of all pages and of the project in seconds per second, at eleven requests a second and the stated rates. */
  test('is polled where that makes the sum of all delays smaller, and only there', () => {
    const [pages, pagePerS, requestsPerS] = [13, 0.1, 11];
    const delayWith = (ownPerS: number, pollsPerS: number) => {
      const turnS = pages / (requestsPerS - pollsPerS);
      const own = pollsPerS === 0 ? (ownPerS * turnS) / 2 : ownPerS / pollsPerS / 2;
      return (pages * pagePerS * turnS) / 2 + own;
    };
    const best = (ownPerS: number) => {
      const watched = Array.from({ length: 500 }, (_, place) => delayWith(ownPerS, (place + 1) / 100));
      return Math.min(...watched) / delayWith(ownPerS, 0);
    };

    expect(best(2 * pagePerS)).toBeGreaterThan(1);
    expect(best(8.5 * pagePerS)).toBeLessThan(1);
    expect(best(40 * pagePerS)).toBeLessThan(0.9);
  });
});
