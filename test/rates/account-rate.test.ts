import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  commandsMaxBeside,
  LIMIT_PER_MINUTE,
  nextPart,
  SHARES_PER_MINUTE,
  sharedRequestsPerMinute,
} from '../../shared/rates/account-rate.ts';

const rate = (poller: number, commands: number, limit = LIMIT_PER_MINUTE) => ({
  pollerRequestsPerMinute: poller,
  commandRequestsPerMinute: commands,
  limitRequestsPerMinute: limit,
});
const USUAL = rate(SHARES_PER_MINUTE.poller, SHARES_PER_MINUTE.commands);
const QUIET = { sentCount: 80, sentCountMax: 80, isShort: false, mayLower: true, commandCount: 0 };

describe('the parts of poller and commands', () => {
  test('are never more together than the limit, whatever each wants and has sent', () => {
    const uses = fc.array(
      fc.record({
        commandShare: fc.double({ min: 0, max: 1, noNaN: true }),
        sentShare: fc.double({ min: 0, max: 1, noNaN: true }),
        isShort: fc.boolean(),
        mayLower: fc.boolean(),
      }),
      { minLength: 1, maxLength: 30 },
    );
    const shares = fc.record({
      poller: fc.integer({ min: 10, max: 650 }),
      commands: fc.integer({ min: 10, max: 650 }),
    });
    fc.assert(
      fc.property(shares, uses, ({ poller, commands }, list) => {
        fc.pre(poller + commands <= LIMIT_PER_MINUTE);
        const account = rate(poller, commands);
        let part = { holds: poller, wants: poller };
        let commandCount = 0;
        for (const { commandShare, sentShare, ...use } of list) {
          // What commands were given before counts for a minute, so their count falls by any part of it, too.
          commandCount = Math.floor(commandShare * Math.max(commandCount, commandsMaxBeside(account, part)));
          const sentCount = Math.floor(sentShare * part.holds);
          part = nextPart(account, {
            ...use,
            holds: part.holds,
            sentCount,
            sentCountMax: sentCount,
            commandCount,
          });

          expect(part.holds + commandCount).toBeLessThanOrEqual(LIMIT_PER_MINUTE);
          expect(part.holds + commandsMaxBeside(account, part)).toBeLessThanOrEqual(LIMIT_PER_MINUTE);
          expect(part.holds).toBeGreaterThanOrEqual(sentCount);
        }
      }),
    );
  });

  test('are what the other leaves', () => {
    const quiet = nextPart(USUAL, { ...QUIET, holds: 350 });
    expect(commandsMaxBeside(USUAL, quiet)).toBe(475);
    expect(sharedRequestsPerMinute(USUAL)).toBe(600);
    const hungry = { ...QUIET, sentCount: 350, sentCountMax: 350, isShort: true };
    expect(nextPart(USUAL, { ...hungry, holds: 350 })).toEqual({ holds: 600, wants: 600 });
    expect(commandsMaxBeside(USUAL, { holds: 600, wants: 600 })).toBe(33);
  });

  test('are the configured ones again when both want more', () => {
    const hungry = { ...QUIET, sentCount: 125, sentCountMax: 125, isShort: true };
    expect(nextPart(USUAL, { ...hungry, holds: 125, commandCount: 475 })).toEqual({ holds: 158, wants: 250 });
    const lending = { ...QUIET, sentCount: 590, sentCountMax: 590, isShort: true };
    expect(nextPart(USUAL, { ...lending, holds: 600, commandCount: 33 })).toEqual({ holds: 590, wants: 350 });
  });
});
