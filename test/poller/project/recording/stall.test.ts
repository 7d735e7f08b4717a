import { describe, expect, test } from 'vitest';
import { dependsOnUsual, dueStall } from '../../../../functions/poller/project/recording/stall.ts';
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

describe('an open operation without fixed thresholds', () => {
  const open = aRecord({ status: 'running' });
  const usual = {
    basis: 'project',
    operation_count: 40,
    p50_ms: 900,
    p95_ms: 60_000,
    p99_ms: 200_400,
  } as const;

  test('is stalled beyond three times the duration within which 99 of 100 end, and says so', () => {
    const thresholdMs = 602_000;

    expect(dueStall(open, {}, CREATED_MS + thresholdMs - 1, usual)).toBeUndefined();
    expect(dueStall(open, {}, CREATED_MS + thresholdMs, usual)).toEqual({
      threshold_ms: thresholdMs,
      open_ms: thresholdMs,
      usual_duration: usual,
    });
  });

  test('is not stalled within five minutes, however quick its kind usually is', () => {
    const quick = { ...usual, p99_ms: 900 };

    expect(dueStall(open, {}, CREATED_MS + 5 * MINUTE_MS - 1, quick)).toBeUndefined();
    expect(dueStall(open, {}, CREATED_MS + 5 * MINUTE_MS, quick)?.threshold_ms).toBe(5 * MINUTE_MS);
  });

  test('is published once, although what is usual changes while it is open', () => {
    const nowMs = CREATED_MS + 11 * MINUTE_MS;
    const stall = dueStall(open, {}, nowMs, usual);
    const stalled = stall && decideStall(open, { ...stall, nowMs });

    const slower = { ...usual, p99_ms: 250_000 };

    expect(stalled && dueStall(stalled, {}, nowMs + 60 * MINUTE_MS, slower)).toBeUndefined();
  });

  test('is stalled after a quarter of an hour and after two hours while too little is known of its action', () => {
    expect(dueStall(open, {}, CREATED_MS + 15 * MINUTE_MS, 'unknown')?.threshold_ms).toBe(15 * MINUTE_MS);
    expect(dueStall(open, {}, CREATED_MS + 120 * MINUTE_MS, 'unknown')?.threshold_ms).toBe(120 * MINUTE_MS);
  });

  test('is not stalled where nothing says what is usual', () => {
    expect(dueStall(open, {}, CREATED_MS + 300 * MINUTE_MS)).toBeUndefined();
  });

  test('has the fixed thresholds of the configuration, whatever is usual', () => {
    expect(dueStall(open, { default: [MINUTE_MS] }, CREATED_MS + MINUTE_MS, usual)).toEqual({
      threshold_ms: MINUTE_MS,
      open_ms: MINUTE_MS,
    });
  });

  test('needs the knowledge of what is usual only when that decides', () => {
    const at = (minutes: number) => CREATED_MS + minutes * MINUTE_MS;

    expect(dependsOnUsual(open, {}, at(4))).toBe(false);
    expect(dependsOnUsual(open, {}, at(5))).toBe(true);
    expect(dependsOnUsual(open, { default: [MINUTE_MS] }, at(5))).toBe(false);
    expect(dependsOnUsual(aRecord({ status: 'finished' }), {}, at(5))).toBe(false);
    const reported = decideStall(open, { threshold_ms: 120 * MINUTE_MS, open_ms: 1, nowMs: at(121) });
    expect(dependsOnUsual(reported, {}, at(121))).toBe(false);
  });

  test('becomes an event that carries what its threshold rests on', () => {
    const nowMs = CREATED_MS + 11 * MINUTE_MS;
    const stall = dueStall(open, {}, nowMs, usual);
    const stalled = decideStall(open, { threshold_ms: 0, open_ms: 0, ...stall, nowMs });
    const entry = stalled.entries.at(-1);
    const detail = JSON.parse((entry && renderEvent(stalled, entry).detail) ?? '{}') as object;

    expect(operationStalled.detail.strict().safeParse(detail).error).toBeUndefined();
    expect(detail).toMatchObject({ usual_duration: usual });
  });
});
