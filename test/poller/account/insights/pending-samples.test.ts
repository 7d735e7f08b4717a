import { describe, expect, test } from 'vitest';
import {
  ACCOUNT_WAIT_MS_MAX,
  createPendingSamples,
  PENDING_SAMPLES_MAX,
  PROJECT_WAIT_MS_MAX,
  WAITING_SAMPLES_MAX,
} from '../../../../functions/poller/account/insights.ts';
import { INSIGHT_DAYS, type UtcDay } from '../../../../shared/insights/day-insights.ts';
import { aClock } from '../../../builders.ts';
import { aSample } from '../../../insights/a-sample.ts';

const NOON_MS = Date.UTC(2026, 0, 15, 12);

function setUp() {
  let nowMs = NOON_MS;
  const pending = createPendingSamples(aClock(() => nowMs));
  const advance = (durationMs: number) => {
    nowMs += durationMs;
  };
  const takeMany = (count: number, fields: Parameters<typeof aSample>[0] = {}) => {
    for (let index = 0; index < count; index++) pending.take(aSample(fields));
  };
  return { pending, advance, takeMany };
}

describe('samples that wait to be written', () => {
  test('are due for the account and for their project once enough of them wait', () => {
    const { pending, takeMany } = setUp();
    takeMany(WAITING_SAMPLES_MAX - 1);
    expect(pending.takeDue()).toEqual([]);

    takeMany(1, { projectId: 'another' });

    expect(pending.takeDue()).toMatchObject([{ projectId: undefined, day: '2026-01-15' }]);
    takeMany(1);
    expect(pending.takeDue()).toMatchObject([{ projectId: aSample().projectId }]);
  });

  test('are due for the account after ten minutes, and for their project after six hours', () => {
    const { pending, advance, takeMany } = setUp();
    takeMany(1);

    advance(ACCOUNT_WAIT_MS_MAX - 1);
    expect(pending.takeDue()).toEqual([]);
    advance(1);
    const ofAccount = pending.takeDue();
    advance(PROJECT_WAIT_MS_MAX - ACCOUNT_WAIT_MS_MAX);

    expect(ofAccount.map(({ projectId }) => projectId)).toEqual([undefined]);
    expect(pending.takeDue()).toMatchObject([{ projectId: aSample().projectId, samples: [aSample()] }]);
  });

  test('go into the item of the day on which their operation ended', () => {
    const { pending, takeMany } = setUp();

    takeMany(WAITING_SAMPLES_MAX, { day: '2026-01-14' as UtcDay });

    expect(new Set(pending.takeDue().map(({ day }) => day))).toEqual(new Set(['2026-01-14']));
  });

  test('are of the last seven days only, because a walk through the history shows older operations', () => {
    const { pending, advance, takeMany } = setUp();
    const oldest = new Date(NOON_MS - (INSIGHT_DAYS - 1) * 86_400_000).toISOString().slice(0, 10);
    const older = new Date(NOON_MS - INSIGHT_DAYS * 86_400_000).toISOString().slice(0, 10);
    takeMany(1, { day: oldest as UtcDay });
    takeMany(1, { day: older as UtcDay });
    takeMany(1, { day: '2026-01-16' as UtcDay });

    advance(PROJECT_WAIT_MS_MAX);

    expect(new Set(pending.takeDue().map(({ day }) => day))).toEqual(new Set([oldest]));
  });

  test('are due again at once when they could not be written', () => {
    const { pending, takeMany } = setUp();
    takeMany(WAITING_SAMPLES_MAX);
    const due = pending.takeDue();

    for (const group of due) pending.putBack(group);

    expect(pending.takeDue()).toEqual(due);
    expect(pending.takeDue()).toEqual([]);
  });

  test('are due as early as before when newer ones came while they could not be written', () => {
    const { pending, advance, takeMany } = setUp();
    takeMany(1);
    advance(ACCOUNT_WAIT_MS_MAX);
    const [ofAccount] = pending.takeDue();
    takeMany(1);

    if (ofAccount !== undefined) pending.putBack(ofAccount);

    expect(pending.takeDue()).toMatchObject([{ projectId: undefined, samples: [aSample(), aSample()] }]);
  });

  test('make place for others once they are taken out', () => {
    const { pending, takeMany } = setUp();
    takeMany(PENDING_SAMPLES_MAX / 2);
    pending.takeDue();

    takeMany(PENDING_SAMPLES_MAX / 2);

    expect(pending.takeDroppedCount()).toBe(0);
  });

  test('are dropped and counted beyond their bound', () => {
    const { pending, takeMany } = setUp();

    // Each of them waits for the account and for its project.
    takeMany(PENDING_SAMPLES_MAX / 2 + 3);

    expect(pending.takeDroppedCount()).toBe(3);
    expect(pending.takeDroppedCount()).toBe(0);
    expect(pending.takeDue().flatMap(({ samples }) => samples)).toHaveLength(PENDING_SAMPLES_MAX);
  });
});
