import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rateLimitOf, spend, UNUSED, waitMs } from '../../shared/rates/account-rate.ts';
import {
  decideRetry,
  type FailedAttempt,
  parseRetryAfter,
  retryDelayMs,
  type UpstreamErrorKind,
} from '../../shared/rates/retry-decision.ts';
import { decideHealth, firstAccountRecord } from '../../shared/records/account-record.ts';
import {
  BATCH_BYTES_MAX,
  type EntryOutcome,
  planAcknowledgement,
  planBatches,
} from '../../shared/records/journal.ts';
import type { JournalEntry } from '../../shared/records/journal-entries.ts';
import { decideDiscovery, decideUnreachable } from '../../shared/records/project-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { aRecord, NOON_MS } from '../builders.ts';

const MINUTE_MS = 60_000;

describe('batches for the bus', () => {
  test('hold ten entries and 200 kB at most, keep the order and lose nothing', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 250_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(sizes, (bytes) => {
        const entries = bytes.map((sizeBytes, place) => ({ sizeBytes, place }));
        const batches = planBatches(entries);

        expect(batches.flat()).toEqual(entries);
        for (const batch of batches) {
          const total = batch.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
          expect(batch.length).toBeLessThanOrEqual(10);
          expect(batch.length === 1 || total <= BATCH_BYTES_MAX).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('acknowledgement', () => {
  const entries = aRecord(
    {},
    { status: 'failed', failures_count: 1 },
    { status: 'finished', failures_count: 1 },
  ).entries;
  const sent = (...outcomes: readonly EntryOutcome['kind'][]) =>
    outcomes.map((kind, index) => ({
      entry: entries[index] as JournalEntry,
      outcome: kind === 'accepted' ? ({ kind } as const) : { kind, code: 'Code' },
    }));

  test.each([
    [['accepted', 'accepted', 'accepted'], 3, 0],
    [['accepted', 'retry', 'accepted'], 1, 0],
    [['retry', 'accepted', 'accepted'], undefined, 0],
    [['accepted', 'refused', 'accepted'], 3, 1],
    [['refused', 'retry', 'refused'], 1, 1],
    [[], undefined, 0],
  ] as const)('%j is acknowledged up to %s, with %i set aside', (outcomes, through, parkedCount) => {
    const plan = planAcknowledgement(sent(...outcomes));

    expect(plan.through).toBe(through);
    expect(plan.park).toHaveLength(parkedCount);
  });
});

describe('retries', () => {
  const attempt: FailedAttempt = {
    attempt: 1,
    kind: 'rate_limited',
    method: 'GET',
    status: 429,
    retryAfterMs: undefined,
    dice: 0.5,
  };

  test('wait longer each time, up to ten seconds, and never exactly alike', () => {
    const delays = [1, 2, 3, 4, 9].map((number) => retryDelayMs({ ...attempt, attempt: number, dice: 0 }));

    expect(delays).toEqual([125, 250, 500, 1_000, 5_000]);
    expect(retryDelayMs({ ...attempt, dice: 0.99 })).toBeGreaterThan(retryDelayMs(attempt));
  });

  test('Retry-After is never shortened', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20_000 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (ms, dice) => {
          expect(retryDelayMs({ attempt: 3, retryAfterMs: ms, dice })).toBeGreaterThanOrEqual(ms);
        },
      ),
    );
  });

  test.each<[string, UpstreamErrorKind, number | undefined, boolean]>([
    ['GET', 'rate_limited', 429, true],
    ['GET', 'unavailable', 500, true],
    ['GET', 'network', undefined, true],
    ['GET', 'timeout', undefined, true],
    ['GET', 'malformed_answer', 200, true],
    ['GET', 'locked', 423, false],
    ['GET', 'unauthorized', 401, false],
    ['GET', 'not_found', 404, false],
    ['GET', 'rejected', 400, false],
    ['GET', 'cancelled', undefined, false],
    ['POST', 'locked', 423, true],
    ['POST', 'rate_limited', 429, true],
    ['POST', 'unavailable', 503, true],
    ['POST', 'unavailable', 500, false],
    ['DELETE', 'network', undefined, false],
    ['PATCH', 'timeout', undefined, false],
  ])('%s after %s (%s) is sent again: %s', (method, kind, status, isRetried) => {
    const decision = decideRetry({ ...attempt, method, kind, status });

    expect(decision.kind).toBe(isRetried ? 'retry' : 'give_up');
  });

  test('end after four calls, and do not sleep through a long Retry-After', () => {
    expect(decideRetry({ ...attempt, attempt: 4 }).kind).toBe('give_up');
    expect(decideRetry({ ...attempt, retryAfterMs: 60_000 }).kind).toBe('give_up');
    expect(decideRetry({ ...attempt, retryAfterMs: 5_000 })).toMatchObject({ kind: 'retry' });
  });

  test.each([
    ['120', 120_000],
    ['0', 0],
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30_000],
    ['Thursday, 15-Jan-26 12:00:30 GMT', 30_000],
    ['Thu, 15 Jan 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-5', undefined],
    ['1.5', undefined],
    ['', undefined],
    [null, undefined],
  ])('Retry-After: %s is %s ms', (header, expected) => {
    expect(parseRetryAfter(header, NOON_MS)).toBe(expected);
  });
});

describe('the rate limit', () => {
  const arrivals = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 400 });
  const budgets = fc.integer({ min: 10, max: 700 });

  test('lets no more than the budget leave in any minute, whatever the arrivals', () => {
    fc.assert(
      fc.property(arrivals, budgets, fc.integer({ min: 1, max: 40 }), (gaps, requestsPerMinute, burst) => {
        const leftAtMs = departures(gaps, rateLimitOf(requestsPerMinute, burst));
        leftAtMs.forEach((atMs, index) => {
          const inMinute = leftAtMs.slice(index).filter((other) => other < atMs + MINUTE_MS).length;
          expect(inMinute).toBeLessThanOrEqual(requestsPerMinute);
        });
      }),
      { numRuns: 300 },
    );
  });

  test('uses nine tenths of the budget when there is always something to send', () => {
    const leftAtMs = departures(
      Array.from({ length: 1_800 }, () => 0),
      rateLimitOf(350, 20),
    );

    expect(1_800 / ((leftAtMs.at(-1) ?? 0) / MINUTE_MS)).toBeGreaterThan(350 * 0.9);
  });

  test('is silent as long as the upstream asks for it', () => {
    expect(waitMs(rateLimitOf(350, 20), { ...UNUSED, pausedUntilMs: NOON_MS + 4_000 }, NOON_MS)).toBe(4_000);
  });

  function departures(gaps: readonly number[], limit: ReturnType<typeof rateLimitOf>): readonly number[] {
    let state = UNUSED;
    let nowMs = NOON_MS;
    return gaps.map((gapMs) => {
      nowMs += gapMs;
      nowMs += waitMs(limit, state, nowMs);
      state = spend(limit, state, nowMs);
      return nowMs - NOON_MS;
    });
  }
});

describe('projects and accounts', () => {
  const sighting = { account_id: 'main', project_id: 'p-1', nowMs: NOON_MS, isNews: true };

  test('what was there when the account was first seen is no news', () => {
    expect(decideDiscovery(undefined, { ...sighting, isNews: false })).toMatchObject({
      is_visible: true,
      entries: [],
    });
  });

  test('a project that appears later is news, once', () => {
    const record = decideDiscovery(undefined, sighting);

    expect(record?.entries).toMatchObject([{ type: 'project_discovered', revision: 1 }]);
    expect(decideDiscovery(record, sighting)).toBeUndefined();
  });

  test('a project that is gone is published once, and is news when it comes back', () => {
    const record = decideDiscovery(undefined, { ...sighting, isNews: false });
    const gone = record && decideUnreachable(record, NOON_MS);

    expect(gone?.entries).toMatchObject([{ type: 'project_unreachable' }]);
    expect(gone && decideUnreachable(gone, NOON_MS)).toBeUndefined();
    expect(decideDiscovery(gone, sighting)).toMatchObject({ is_visible: true, revision: 2 });
  });

  test('an account is degraded once per reason, and recovered once with the reason it had', () => {
    const account = firstAccountRecord('main', '2026-01-15T12:00:00.000000000Z' as Timestamp);
    const degraded = decideHealth(account, 'key_rejected', NOON_MS);
    const recovered = degraded && decideHealth(degraded, undefined, NOON_MS);

    expect(decideHealth(account, undefined, NOON_MS)).toBeUndefined();
    expect(degraded && decideHealth(degraded, 'key_rejected', NOON_MS)).toBeUndefined();
    expect(recovered?.entries.at(-1)).toMatchObject({ type: 'account_recovered', reason: 'key_rejected' });
  });
});
