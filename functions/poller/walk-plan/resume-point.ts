/** Decides where the next poll continues a walk that one poll did not finish. */

import type { ResumePoint } from '../../../shared/core/records/reading-progress.ts';
import type { Timestamp } from '../../../shared/core/time/timestamp.ts';
import type { WalkState } from './walk-state.ts';

/** This time stands for the head of a list whose rows show no readable time, and for a time before every operation. */
export const UNKNOWN_HEAD = '0001-01-01T00:00:00.000000000Z' as Timestamp;

/** Returns where the next poll resumes an interrupted walk, or undefined when it must start at the head. */
export function resumePoint(state: WalkState): ResumePoint | undefined {
  const { head = UNKNOWN_HEAD, goal, phase, isUnordered } = state;
  // A page that could not be widened ends where a sweep looks again: two rows of one microsecond may stand there.
  const lastCursor = state.lastCursor ?? state.widenedCursor;
  const flag = isUnordered ? { is_unordered: true } : {};
  // The interrupted walk has no gap down to its cursor. What this poll has read above its head is read again later.
  if (phase === 'head' && goal.resume !== undefined) return { ...goal.resume, ...flag };
  if (lastCursor === undefined) return undefined;
  return { head, cursor: lastCursor, ...flag, ...(isUnordered ? cycleOf(state) : depthOf(state)) };
}

/** Says how far an unordered list has been read, and when the walk began. */
function cycleOf({ beganAt, newest }: WalkState): Pick<ResumePoint, 'began_at' | 'newest'> {
  return { ...(beganAt && { began_at: beganAt }), ...(newest && { newest }) };
}

/**
 * A tail that has read no row yet is still where the interrupted walk stopped. What was looked up of the newest recorded row while the list
 * could not be read stays true until the walk is complete.
 */
function depthOf(state: WalkState): Pick<ResumePoint, 'began_at' | 'lowest' | 'newest'> {
  const lowest = lowestOf(state);
  const newest = state.goal.resume?.newest;
  const { beganAt } = state;
  return { ...(beganAt && { began_at: beganAt }), ...(lowest && { lowest }), ...(newest && { newest }) };
}

/** Where pages overlap, the walk has recorded rows below the cursor at which it continues. */
function lowestOf({ aboveNext, lead, goal }: WalkState): Timestamp | undefined {
  return [aboveNext, lead?.above, goal.resume?.lowest].filter((time) => time !== undefined).toSorted()[0];
}
