import { describe, expect, test } from 'vitest';
import { dueStall } from '../../../../functions/poller/project/recording/stall.ts';
import { decideStall } from '../../../../shared/core/records/operation-record.ts';
import { operationStalled } from '../../../../shared/events/catalog.ts';
import { renderEvent } from '../../../../shared/events/render-event.ts';
import { aRecord } from '../../../builders.ts';

const MINUTE_MS = 60_000;
const CREATED_MS = Date.parse('2026-01-15T11:59:50Z');
const thresholdsMs = { default: [15 * MINUTE_MS, 120 * MINUTE_MS], create_branch: [MINUTE_MS] };

describe('an open operation', () => {
  test('is stalled from its threshold on, and not a millisecond before', () => {
    const open = aRecord({ status: 'running' });

    expect(dueStall(open, thresholdsMs, CREATED_MS + 15 * MINUTE_MS - 1)).toBeUndefined();
    expect(dueStall(open, thresholdsMs, CREATED_MS + 15 * MINUTE_MS)).toEqual({
      threshold_ms: 15 * MINUTE_MS,
      open_ms: 15 * MINUTE_MS,
    });
  });

  test('is published once for each threshold, and for the largest when several have passed', () => {
    const open = aRecord({ status: 'running' });
    const first = {
      threshold_ms: 15 * MINUTE_MS,
      open_ms: 15 * MINUTE_MS,
      nowMs: CREATED_MS + 15 * MINUTE_MS,
    };
    const stalled = decideStall(open, first);

    expect(dueStall(stalled, thresholdsMs, CREATED_MS + 60 * MINUTE_MS)).toBeUndefined();
    expect(dueStall(stalled, thresholdsMs, CREATED_MS + 121 * MINUTE_MS)?.threshold_ms).toBe(120 * MINUTE_MS);
    expect(dueStall(open, thresholdsMs, CREATED_MS + 121 * MINUTE_MS)?.threshold_ms).toBe(120 * MINUTE_MS);
  });

  test('has the thresholds of its action', () => {
    const open = aRecord({ status: 'running', action: 'create_branch' });

    expect(dueStall(open, thresholdsMs, CREATED_MS + MINUTE_MS)?.threshold_ms).toBe(MINUTE_MS);
    expect(dueStall(open, { other: [1] }, CREATED_MS + MINUTE_MS)).toBeUndefined();
  });

  test.each(['finished', 'failed', 'error', 'cancelled'])('that is %s is not stalled', (status) => {
    expect(dueStall(aRecord({ status }), thresholdsMs, CREATED_MS + 300 * MINUTE_MS)).toBeUndefined();
  });

  test('becomes an event as the catalog says, with the command that started it', () => {
    const record = {
      ...aRecord({ status: 'running' }),
      command: { client_id: 'deployer', request_id: 'request-1' },
    };
    const stalled = decideStall(record, { threshold_ms: 1, open_ms: 2, nowMs: CREATED_MS });
    const entry = stalled.entries.at(-1);
    const detail = JSON.parse((entry && renderEvent(stalled, entry).detail) ?? '{}') as object;

    expect(operationStalled.detail.strict().safeParse(detail).error).toBeUndefined();
    expect(detail).toMatchObject({ command: { client_id: 'deployer' }, status: 'running', threshold_ms: 1 });
  });
});
