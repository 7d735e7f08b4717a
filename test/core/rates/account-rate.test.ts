import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  commandBurstOf,
  commandLimitOf,
  LIMIT_PER_MINUTE,
  PERMIT_MS,
  SHARES_PER_MINUTE,
  sharedRequestsPerMinute,
  USAGE_LOOK_MS,
  USAGE_NOTE_MS,
  unknownCommandsMax,
} from '../../../shared/core/rates/account-rate.ts';
import { type RateLimit, spend, UNUSED, waitMs } from '../../../shared/core/rates/rate-limit.ts';

const MINUTE_MS = 60_000;

const rate = (poller: number, commands: number) => ({
  pollerRequestsPerMinute: poller,
  commandRequestsPerMinute: commands,
});

/** Returns the largest number of requests that leave within `durationMs`, from a bucket that was full. */
function mostWithin(limit: RateLimit, durationMs: number): number {
  let [state, nowMs, count] = [UNUSED, 1_000_000, 0];
  const endMs = nowMs + durationMs;
  for (;;) {
    nowMs += waitMs(limit, state, nowMs);
    if (nowMs > endMs) return count;
    state = spend(limit, state, nowMs);
    count += 1;
  }
}

describe('commands that the poller does not know of yet', () => {
  test('are none where there are no commands', () => {
    expect(unknownCommandsMax(0)).toBe(0);
  });

  test('are at least as many as can leave from one look to the one that finds them', () => {
    const seenLateMs = USAGE_LOOK_MS + USAGE_NOTE_MS + 1_000;
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 650 }), (commands) => {
        const most = mostWithin(commandLimitOf(commands), seenLateMs + PERMIT_MS);

        expect(unknownCommandsMax(commands)).toBeGreaterThanOrEqual(most);
        // Every command that is assumed here is one poll less.
        expect(unknownCommandsMax(commands)).toBeLessThanOrEqual(most + 2);
      }),
    );
  });
});

describe('the bucket of the poller and of commands', () => {
  test('has both shares, while what is not known yet fits beside them', () => {
    expect(sharedRequestsPerMinute(rate(SHARES_PER_MINUTE.poller, SHARES_PER_MINUTE.commands))).toBe(600);
    expect(sharedRequestsPerMinute(rate(400, 0))).toBe(400);
  });

  test('is never wider than the limit without the commands that the poller does not know of yet', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 700 }), fc.integer({ min: 2, max: 650 }), (poller, commands) => {
        const shared = sharedRequestsPerMinute(rate(poller, commands));

        expect(Number.isInteger(shared)).toBe(true);
        expect(shared).toBeLessThanOrEqual(poller + commands);
        expect(shared + unknownCommandsMax(commands)).toBeLessThanOrEqual(LIMIT_PER_MINUTE);
        const seenLateMs = USAGE_LOOK_MS + USAGE_NOTE_MS + 1_000;
        expect((shared * seenLateMs) / 60_000 + commands).toBeLessThanOrEqual(LIMIT_PER_MINUTE);
      }),
    );
  });

  test('is as wide as these bounds allow, and no narrower', () => {
    expect(sharedRequestsPerMinute(rate(700, 0))).toBe(700);
    expect(sharedRequestsPerMinute(rate(700, 250))).toBe(700 - unknownCommandsMax(250));
    expect(sharedRequestsPerMinute(rate(700, 650))).toBe(428);
  });
});

describe('a limit that the service has raised', () => {
  test('is used up to the shares, and kept like the usual one', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 700, max: 100_000 }),
        fc.integer({ min: 2, max: 99_000 }),
        fc.integer({ min: 2, max: 650 }),
        (limitRequestsPerMinute, poller, commands) => {
          const shared = sharedRequestsPerMinute({ ...rate(poller, commands), limitRequestsPerMinute });

          expect(shared).toBeLessThanOrEqual(poller + commands);
          expect(shared + unknownCommandsMax(commands)).toBeLessThanOrEqual(limitRequestsPerMinute);
        },
      ),
    );
    expect(sharedRequestsPerMinute({ ...rate(18_000, 250), limitRequestsPerMinute: 20_000 })).toBe(18_250);
  });
});

describe('the limit of commands', () => {
  test('lets eight in a hundred of a minute leave at once, in whole commands', () => {
    expect([commandBurstOf(250), commandBurstOf(100), commandBurstOf(99)]).toEqual([20, 8, 7]);
  });

  test('lets no more commands leave in a minute than it says, however late or early each uses its permit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 650 }), (commands) => {
        const limit = commandLimitOf(commands);
        const stretchMs = MINUTE_MS + PERMIT_MS + limit.toleranceMs;
        const placeCount = stretchMs / limit.intervalMs + 1;

        expect(placeCount).toBeLessThanOrEqual(commands + 1e-6);
        expect(placeCount).toBeGreaterThan(commands - 0.1);
      }),
    );
  });
});
