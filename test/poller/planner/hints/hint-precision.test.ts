import { describe, expect, test } from 'vitest';
import { createHintPrecision } from '../../../../functions/poller/planner/hints/hint-precision.ts';

describe('the share of hints that are true', () => {
  const shareAfter = (...findings: readonly boolean[]) => {
    const precision = createHintPrecision();
    for (const foundTransition of findings) precision.note(foundTransition);
    return precision.share();
  };
  const times = (count: number, foundTransition: boolean) => Array<boolean>(count).fill(foundTransition);

  test('is one half at first, and comes near the share that was found', () => {
    expect(shareAfter()).toBe(0.5);
    expect(shareAfter(true)).toBeCloseTo(2 / 3);
    expect(shareAfter(...times(60, true), ...times(20, false))).toBeCloseTo(0.75, 1);
  });

  test('forgets a hundredth of what was found before with each reading after the first hundred', () => {
    expect(shareAfter(...times(97, true), false)).toBeCloseTo(98 / 100, 8);
    expect(shareAfter(...times(98, true), false)).toBeCloseTo((99 * 0.99) / 100, 8);
  });

  test('falls below a tenth within three hundred false alarms, however long the field was right', () => {
    expect(shareAfter(...times(10_000, true))).toBeGreaterThan(0.98);
    expect(shareAfter(...times(10_000, true), ...times(300, false))).toBeLessThan(0.1);
  });
});
