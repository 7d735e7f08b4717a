/** Checks Operation Watch Ended. */

import type { Violation } from '../../check-history.ts';
import { DAY_MS } from '../plan.ts';
import { isWithin } from '../upstream/truth.ts';
import type { Evidence } from './evidence.ts';

/** A failed operation is watched for this time. */
const WATCH_MS_MAX = 30 * DAY_MS;

export function checkWatches({ stage, events }: Evidence): readonly Violation[] {
  const { truth } = stage.upstream;
  // The bridge decides by its own clock when a time has passed.
  const isClockRight = !stage.world.fired.has('clock_wrong');
  return events.flatMap(({ detailType, event, atMs }) => {
    const op = truth.operationOf(event.operation_id ?? '');
    if (op === undefined) return [];
    const wrong = (rule: string, detail: string) => [{ rule, operation_id: op.id, detail }];
    if (detailType === 'Operation Watch Ended' && event.reason === 'vanished') {
      const isGone =
        op.vanishesAtMs <= atMs || !isWithin(truth.projectOf(op.project_id)?.visible ?? [], atMs);
      return isGone ? [] : wrong('vanished', 'it is still there');
    }
    if (detailType === 'Operation Watch Ended' && event.reason === 'project_gone') {
      const { visible = [], malformed = [] } = truth.projectOf(op.project_id) ?? {};
      // A project whose row cannot be parsed is in no list, so nothing says that it is back.
      const isListed = isWithin(visible, atMs) && !isWithin(malformed, atMs);
      return isListed ? wrong('vanished', 'its project is still there') : [];
    }
    if (detailType === 'Operation Watch Ended' && isClockRight) {
      const failedAtMs = op.states.findLast(
        ({ status, atMs: at }) => status === 'failed' && at <= atMs,
      )?.atMs;
      const isOverdue = failedAtMs !== undefined && atMs - failedAtMs >= WATCH_MS_MAX;
      return isOverdue ? [] : wrong('watch-ended', `${event.reason} too early`);
    }
    return [];
  });
}
