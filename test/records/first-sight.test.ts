/** The end of the first reading of an account is published once, and only for an account that is new to the bridge. */

import { describe, expect, test } from 'vitest';
import {
  type AccountRecord,
  awaitsFirstSight,
  decideFirstSight,
  firstAccountRecord,
} from '../../shared/records/account-record.ts';
import type { Timestamp } from '../../shared/records/time.ts';
import { NOON_MS } from '../builders.ts';

const DAY_MS = 86_400_000;
const COUNTS = { project_count: 12, failing_count: 3 };

const account = (fields: Partial<AccountRecord> = {}): AccountRecord => ({
  ...firstAccountRecord('main', '2026-01-15T12:00:00.000000000Z' as Timestamp),
  ...fields,
});

describe('the first reading of an account', () => {
  test('ends with an event that counts what it found', () => {
    const at = new Date(NOON_MS + 60_000).toISOString();

    expect(decideFirstSight(account({ is_listed: true }), COUNTS, NOON_MS + 60_000)).toEqual({
      ...account({ is_listed: true }),
      watched_at: at,
      revision: 1,
      published: 0,
      entries: [
        {
          type: 'account_watched',
          id: expect.stringMatching(/^[0-9a-f]{32}$/),
          revision: 1,
          observed_at: at,
          ...COUNTS,
        },
      ],
    });
  });

  test('ends once', () => {
    const watched = decideFirstSight(account(), COUNTS, NOON_MS);

    expect(watched && awaitsFirstSight(watched, NOON_MS)).toBe(false);
    expect(watched && decideFirstSight(watched, COUNTS, NOON_MS + 1)).toBeUndefined();
  });

  test('is awaited for a day, because an account that is older was read by a version that did not note it', () => {
    expect(awaitsFirstSight(account(), NOON_MS + DAY_MS)).toBe(true);
    expect(awaitsFirstSight(account(), NOON_MS + DAY_MS + 1)).toBe(false);
    expect(decideFirstSight(account(), COUNTS, NOON_MS + DAY_MS + 1)).toBeUndefined();
  });

  test('has an event whose id differs by account, revision and time', () => {
    const idOf = (recorded: AccountRecord, nowMs = NOON_MS) =>
      decideFirstSight(recorded, COUNTS, nowMs)?.entries.at(-1)?.id;

    const ids = [
      idOf(account()),
      idOf(account(), NOON_MS + 5),
      idOf(account({ account_id: 'other' })),
      idOf(account({ revision: 1 })),
    ];
    expect(new Set(ids).size).toBe(4);
    expect(idOf(account())).toBe(ids[0]);
  });
});
