/**
 * Decides whether an invocation goes on polling. It is billed by the millisecond, and the next invocation begins
 * within a minute. So it goes on only while a transition is expected before that, and for a configured time longer. A
 * longer time shows the first transition of a quiet account sooner, and costs more (docs, "How soon a transition is
 * seen").
 */

export interface PollingNeed {
  /** It is true when this invocation has read every project, or has read a list that is proved to show every transition. */
  readonly hasReadAll: boolean;
  /** It is true when a project waits to be polled at once, or events wait to be published. */
  readonly hasWork: boolean;
  /**
   * It counts the transitions expected of open operations and of computes that may be suspended now. Operations that
   * have not begun are left out.
   */
  readonly expectedTransitionsPerMs: number;
}

/** Below one transition in a minute, the next invocation usually comes before the transition does. */
const EXPECTED_PER_MS_MIN = 1 / 60_000;

export function isNeeded(need: PollingNeed): boolean {
  return !need.hasReadAll || need.hasWork || need.expectedTransitionsPerMs >= EXPECTED_PER_MS_MIN;
}
