import { describe, expect, test } from 'vitest';
import { activityOf } from '../../../functions/poller/planner/project-activity.ts';
import { MINUTE_MS } from '../../../shared/records/time.ts';
import { operationSchema } from '../../../shared/upstream/calls/schemas.ts';
import { NOON_MS } from '../../builders.ts';

const BEGAN_MS = NOON_MS - 10 * MINUTE_MS;

const aStart = (updated_at: string) =>
  operationSchema('proj-1').parse({
    id: 'start',
    action: 'start_compute',
    status: 'finished',
    created_at: new Date(BEGAN_MS).toISOString(),
    updated_at,
  });

describe('the use of a compute', () => {
  test.each([
    ['begins when the start ended', new Date(BEGAN_MS + 2_000).toISOString(), 2_000],
    ['begins with the start when the end of that is no time', '', 0],
    ['begins with the start when the end of that is of another form', '2026-01-15T11:50:02,5Z', 0],
    ['begins with the start when that ended before it began', '0001-01-01T00:00:00Z', 0],
  ])('%s', (_what, updatedAt, lateMs) => {
    const { uses } = activityOf([aStart(updatedAt)], true, NOON_MS);

    expect(uses).toEqual([{ computeId: '', beganMs: BEGAN_MS + lateMs, endedMs: undefined }]);
  });
});
