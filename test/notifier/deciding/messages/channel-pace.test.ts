import { describe, expect, test } from 'vitest';
import {
  type ChannelPace,
  countedSends,
  freeSlots,
  isAhead,
  PAUSE_MS_MAX,
  pauseAfter,
} from '../../../../functions/notifier/deciding/waking.ts';
import { seededRandom } from '../../../../shared/runtime/random.ts';

const PACE: ChannelPace = { messageCountMax: 5, perMs: 60_000, noticesPerMessageMax: 100 };

describe('the pace of a channel', () => {
  test('lets no span of its length have more messages than it allows, whenever slots are asked for', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = seededRandom(seed);
      const sent: number[] = [];
      let kept: readonly number[] = [];
      for (let nowMs = 0; nowMs < 600_000; nowMs += Math.floor(random.next() * 5_000)) {
        if (freeSlots(kept, PACE, nowMs) === 0) continue;
        kept = [...countedSends(kept, PACE, nowMs), nowMs];
        sent.push(nowMs);
      }
      for (const startMs of sent) {
        const within = sent.filter((atMs) => atMs >= startMs && atMs < startMs + PACE.perMs);
        expect(within.length, `seed ${seed}`).toBeLessThanOrEqual(PACE.messageCountMax);
      }
      // The pace is also used: about five messages start in each of the ten minutes.
      expect(sent.length, `seed ${seed}`).toBeGreaterThan(40);
    }
  });

  test('forgets times that lie further ahead than a message can', () => {
    const dayAhead = Array.from({ length: 5 }, () => 86_400_000);

    expect(freeSlots(dayAhead, PACE, 0)).toBe(5);
    expect(freeSlots([30_000], PACE, 0)).toBe(4);
  });
});

describe('the pause after a failure', () => {
  test('doubles from five seconds to five minutes', () => {
    expect([1, 2, 3, 6, 7, 50].map((failures) => pauseAfter(failures) / 1_000)).toEqual([
      5, 10, 20, 160, 300, 300,
    ]);
  });

  test('is as long as the channel asks, and no longer than five minutes', () => {
    expect(pauseAfter(1, 240_000)).toBe(240_000);
    expect(pauseAfter(1, 86_400_000)).toBe(PAUSE_MS_MAX);
    expect(pauseAfter(4, 1_000)).toBe(40_000);
  });
});

test('an instant that is further ahead than it can be was written by a wrong clock', () => {
  expect([isAhead(10, 5, 10), isAhead(5, 5, 10), isAhead(100, 5, 10)]).toEqual([true, false, false]);
});
