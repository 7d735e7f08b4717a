import { describe, expect, test } from 'vitest';
import { type AccountRecord, decideHealth, firstAccountRecord } from '../../shared/records/account-record.ts';
import type { DegradedReason } from '../../shared/records/journal-entries.ts';
import { secondOf } from '../../shared/records/time.ts';
import { NOON_MS } from '../builders.ts';

const healthy = firstAccountRecord('main', secondOf(NOON_MS));

function afterDegradation(reason: DegradedReason): AccountRecord | undefined {
  const degraded = decideHealth(healthy, reason, NOON_MS);
  return degraded && decideHealth(degraded, undefined, NOON_MS);
}

describe('the health of an account', () => {
  test('recovers from what it was degraded by', () => {
    expect(afterDegradation('key_rejected')?.entries).toMatchObject([
      { type: 'account_degraded', reason: 'key_rejected' },
      { type: 'account_recovered', reason: 'key_rejected' },
    ]);
    expect(afterDegradation('key_rejected')?.degraded_reason).toBeUndefined();
  });

  test('is not recorded again while it stays the same', () => {
    const degraded = decideHealth(healthy, 'key_rejected', NOON_MS);

    expect(decideHealth(healthy, undefined, NOON_MS)).toBeUndefined();
    expect(degraded && decideHealth(degraded, 'key_rejected', NOON_MS)).toBeUndefined();
  });

  // After the table was restored to an earlier point, both recoveries have the same revision (wide seed 512).
  test('has another event for a recovery from another reason', () => {
    const [first, second] = [afterDegradation('key_rejected'), afterDegradation('upstream_failing')];

    expect(first?.entries.at(-1)?.revision).toBe(second?.entries.at(-1)?.revision);
    expect(first?.entries.at(-1)?.id).not.toBe(second?.entries.at(-1)?.id);
  });
});
