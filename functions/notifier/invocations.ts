/** Defines how the notifier is invoked, by its queue and by a schedule, and how long it may take. */

/** AWS asks for a visibility time-out of six times the function's own (Lambda Developer Guide, "Using Lambda with Amazon SQS"). */
export const notifierQueue = {
  visibilityTimeoutMs: 360_000,
  receiveCountMax: 5,
  batchSize: 10,
} as const;

/** The sweep reports digests whose window has closed, and what an outage left unreported. */
export const notifierSchedule = { everyMs: 60_000, timeoutMs: 60_000 } as const;

/** A message that begins within this time has 25 s for its answer, and is noted before the function's 60 s are over. */
export const SEND_BUDGET_MS = 28_000;
