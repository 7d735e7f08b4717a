import { describe, expect, test } from 'vitest';
import {
  COUNTS_WAIT_MS_MAX,
  createPendingCounts,
  PENDING_CHANGES_MAX,
} from '../../../../functions/poller/account/insights.ts';
import type { UtcHour } from '../../../../shared/insights/hour-counts.ts';
import { aClock, NOON_MS } from '../../../builders.ts';
import { aChange, LAST_HOUR, THIS_HOUR } from './a-change.ts';

function setUp() {
  let nowMs = NOON_MS;
  const pending = createPendingCounts(aClock(() => nowMs));
  const pass = (durationMs: number) => {
    nowMs += durationMs;
  };
  return { pending, pass };
}

describe('changes that wait to be counted', () => {
  test('are due by their hours, a minute after the first of them', () => {
    const { pending, pass } = setUp();
    const changes = [aChange(), aChange({ hour: THIS_HOUR }), aChange({ operationId: 'op-2' })] as const;
    pending.take(changes[0]);
    pass(COUNTS_WAIT_MS_MAX - 1);
    pending.take(changes[1]);
    pending.take(changes[2]);

    expect(pending.takeDue()).toEqual([]);
    pass(1);

    expect(pending.takeDue()).toEqual([
      { hour: LAST_HOUR, changes: [changes[0], changes[2]] },
      { hour: THIS_HOUR, changes: [changes[1]] },
    ]);
  });

  test('are taken once, and the minute of the next one begins when it comes', () => {
    const { pending, pass } = setUp();
    pending.take(aChange());
    pass(COUNTS_WAIT_MS_MAX);
    pending.takeDue();
    pending.take(aChange({ operationId: 'op-2' }));

    expect(pending.takeDue()).toEqual([]);
    pass(COUNTS_WAIT_MS_MAX);

    expect(pending.takeDue()).toEqual([{ hour: LAST_HOUR, changes: [aChange({ operationId: 'op-2' })] }]);
    pass(COUNTS_WAIT_MS_MAX);
    expect(pending.takeDue()).toEqual([]);
  });

  test.each([
    ['2026-01-14T13', 1],
    ['2026-01-14T12', 0],
    ['2026-01-15T13', 0],
  ])('are of the 24 hours that are counted: of %s at noon, %i', (hour, count) => {
    const { pending, pass } = setUp();
    pending.take(aChange({ hour: hour as UtcHour }));

    pass(COUNTS_WAIT_MS_MAX);

    expect(pending.takeDue()).toHaveLength(count);
  });

  test('are due again in a minute when they could not be written', () => {
    const { pending, pass } = setUp();
    const changes = [aChange(), aChange({ operationId: 'op-2' })];

    pending.putBack(changes);
    expect(pending.takeDue()).toEqual([]);
    pass(COUNTS_WAIT_MS_MAX);

    expect(pending.takeDue()).toEqual([{ hour: LAST_HOUR, changes }]);
  });

  test('are dropped beyond their bound, and each number of dropped ones is reported once', () => {
    const { pending, pass } = setUp();
    for (let index = 0; index < PENDING_CHANGES_MAX; index++) pending.take(aChange());
    expect(pending.takeDroppedCount()).toBe(0);

    pending.take(aChange());
    pending.putBack([aChange(), aChange()]);

    expect(pending.takeDroppedCount()).toBe(3);
    expect(pending.takeDroppedCount()).toBe(0);
    pass(COUNTS_WAIT_MS_MAX);
    expect(pending.takeDue()[0]?.changes).toHaveLength(PENDING_CHANGES_MAX);
  });
});
