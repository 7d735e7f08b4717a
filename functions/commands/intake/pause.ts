/** Decides what wakes a project whose line pauses for a time: its message, a new message, or the next sweep. */

/** A sweep comes once a minute, so it ends a longer pause soon enough. */
export const HANDED_BACK_MS_MAX = 60_000;

/**
 * Lines that are looked at less often cost fewer reads of the table. Permits that nothing takes are kept for 4.8 s (the
 * burst of commands, 8 % of a minute), so a line that is looked at within that time loses none.
 */
const HANDED_BACK_MS_MIN = 4_000;

export type PauseStep =
  /** The queue hides the message for this time. It is received again then, before all others of its project. */
  | { readonly kind: 'hand_back'; readonly forMs: number }
  /** A message that was received before is replaced by a new one, so that a pause brings none nearer to the dead letters. */
  | { readonly kind: 'send_anew' }
  | { readonly kind: 'leave_to_sweep' };

/** `receiveCount` is undefined when the project was woken without a message. */
export function decidePauseStep(pauseMs: number, receiveCount: number | undefined): PauseStep {
  if (pauseMs > HANDED_BACK_MS_MAX) return { kind: 'leave_to_sweep' };
  if (receiveCount !== 1) return { kind: 'send_anew' };
  return { kind: 'hand_back', forMs: Math.max(pauseMs, HANDED_BACK_MS_MIN) };
}
