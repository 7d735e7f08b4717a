/**
 * Whether an invocation goes on polling: it is paid by the second, and the next one comes within the minute. It goes on
 * while something is expected to happen before that, and a configured time longer; the longer, the sooner the first
 * transition of a quiet account is seen, and the more it costs (docs, "How soon a transition is seen").
 */

export interface PollingNeed {
  /** Every project was read in this invocation. */
  readonly hasReadAll: boolean;
  /** Something waits to be polled or published at once. */
  readonly hasWork: boolean;
  /** Of open operations and computes that may be suspended now, per millisecond; what can always happen is left out. */
  readonly expectedTransitionsPerMs: number;
}

/** Below one in a minute, the next invocation comes before the transition does. */
const EXPECTED_PER_MS_MIN = 1 / 60_000;

export function isNeeded(need: PollingNeed): boolean {
  return !need.hasReadAll || need.hasWork || need.expectedTransitionsPerMs >= EXPECTED_PER_MS_MIN;
}
