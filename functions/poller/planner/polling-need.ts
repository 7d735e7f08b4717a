/**
 * Whether an invocation goes on polling. It is billed by the millisecond, and the next one comes within the minute, so it
 * goes on only while a transition is expected before that, and a configured time longer. A longer time shows the first
 * transition of a quiet account sooner, and costs more (docs, "How soon a transition is seen").
 */

export interface PollingNeed {
  /** Every project was read in this invocation, or a list that is proved to show every transition was. */
  readonly hasReadAll: boolean;
  /** A project waits to be polled at once, or events wait to be published. */
  readonly hasWork: boolean;
  /** Transitions expected of open operations and of computes that may be suspended now; operations yet to begin are left out. */
  readonly expectedTransitionsPerMs: number;
}

/** Below one transition in a minute, the next invocation usually comes before the transition does. */
const EXPECTED_PER_MS_MIN = 1 / 60_000;

export function isNeeded(need: PollingNeed): boolean {
  return !need.hasReadAll || need.hasWork || need.expectedTransitionsPerMs >= EXPECTED_PER_MS_MIN;
}
