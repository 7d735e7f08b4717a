/**
 * Reads from a list of computes which of them run, and what says when they are suspended. A row of an unusual form is
 * left out: a list of computes is only a hint, and must never fail a reading.
 */

/** The times are by the upstream's clock, in milliseconds. */
export interface RunningCompute {
  readonly id: string;
  /** The service knows of no later activity, in milliseconds since the epoch. It is undefined when the row does not say it. */
  readonly lastActiveMs: number | undefined;
  /** The compute is suspended this long after its last activity. It is infinite when the compute is never suspended. */
  readonly suspendAfterMs: number;
}

/** The time-out 0 stands for five minutes, and -1 for never (public contract). */
const SUSPEND_AFTER_S_DEFAULT = 300;

/** The service shows this time for a compute that was never active (public contract). */
const NEVER_ACTIVE_MS = Date.UTC(2000, 0, 1);

/** `rows` are the computes of one answer, as the upstream sent them. */
export function runningComputesOf(rows: readonly unknown[]): readonly RunningCompute[] {
  return rows.flatMap((row) => {
    // A row that is not an object has no id.
    const fields: Readonly<Record<string, unknown>> = { ...(row as object) };
    const { id, current_state: state, pending_state: pending } = fields;
    if (typeof id !== 'string' || state !== 'active' || pending === 'idle') return [];
    const lastActiveMs = lastActiveMsOf(fields['last_active']);
    return [{ id, lastActiveMs, suspendAfterMs: suspendAfterMsOf(fields['suspend_timeout_seconds']) }];
  });
}

function lastActiveMsOf(text: unknown): number | undefined {
  const timeMs = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return timeMs > NEVER_ACTIVE_MS ? timeMs : undefined;
}

function suspendAfterMsOf(seconds: unknown): number {
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return SUSPEND_AFTER_S_DEFAULT * 1_000;
  if (seconds < 0) return Number.POSITIVE_INFINITY;
  return (seconds || SUSPEND_AFTER_S_DEFAULT) * 1_000;
}
