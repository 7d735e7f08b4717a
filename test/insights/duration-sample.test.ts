import { describe, expect, test } from 'vitest';
import { sampleOf } from '../../shared/insights/day-insights.ts';
import {
  decideNextRecord,
  type Operation,
  type OperationRecord,
  type ReadingContext,
} from '../../shared/records/operation-record.ts';
import { aContext, anOperation } from '../builders.ts';

const TIMES = { created_at: '2026-01-15T23:59:58Z', updated_at: '2026-01-16T00:00:03Z' };

/** Records the readings one after the other, and returns the sample of the last one. */
function sampleAfter(readings: readonly Partial<Operation>[], context: Partial<ReadingContext> = {}) {
  let record: OperationRecord | undefined;
  let reading = anOperation();
  for (const fields of readings) {
    reading = anOperation({ ...TIMES, ...fields });
    record = decideNextRecord(record, reading, aContext(context)) ?? record;
  }
  return record && sampleOf(record, reading);
}

describe('the sample of an operation that has ended', () => {
  test('has the day of its end, its whole duration and its attempts', () => {
    const sample = sampleAfter([
      { status: 'running' },
      { status: 'failed', failures_count: 1 },
      { status: 'finished', failures_count: 1, action: 'create_branch' },
    ]);

    expect(sample).toMatchObject({ day: '2026-01-16', durationMs: 5_000, attempts: 2 });
  });

  test('takes the duration that the upstream gives, because its times are in whole seconds', () => {
    expect(sampleAfter([{ status: 'finished', total_duration_ms: 4_843 }])?.durationMs).toBe(4_843);
  });

  test('does not take the duration of a reading that the record was not made of', () => {
    const reading = anOperation({ ...TIMES, status: 'finished', total_duration_ms: 4_843 });
    const record = decideNextRecord(undefined, reading, aContext());

    const older = { ...reading, updated_at: '2026-01-16T00:00:01Z', total_duration_ms: 3_000 };

    expect(record && sampleOf(record, older)?.durationMs).toBe(5_000);
  });

  test('is taken from history, too, although no event reports it', () => {
    const history = { backfill: 'open' } as const;

    expect(sampleAfter([{ status: 'finished' }], { history })).toMatchObject({ durationMs: 5_000 });
  });

  test.each(['scheduling', 'running', 'failed', 'skipped', 'cancelled', 'a_new_status'])(
    'does not exist while the status is %s',
    (status) => {
      expect(sampleAfter([{ status }])).toBeUndefined();
    },
  );

  test('exists for an operation that the upstream has given up', () => {
    expect(sampleAfter([{ status: 'error', failures_count: 3 }])).toMatchObject({ attempts: 4 });
  });

  test('is taken once, although the operation was reopened and ended again', () => {
    const readings = [{ status: 'finished' }, { status: 'running' }, { status: 'finished' }];

    expect(sampleAfter(readings)).toBeUndefined();
  });

  test('does not exist when the operation ended before it began, or has no action', () => {
    expect(sampleAfter([{ status: 'finished', updated_at: '2026-01-15T23:59:00Z' }])).toBeUndefined();
    expect(sampleAfter([{ status: 'finished', action: '' }])).toBeUndefined();
  });
});
