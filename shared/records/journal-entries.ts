/**
 * Defines the entries of journals, each once: the table stores them by these schemas, and events publish their fields
 * under the same names. `render-event.ts` does not compile while the catalog documents a field that neither an entry
 * nor its record has.
 */

import * as z from 'zod';

/**
 * A reading of an operation says this in addition to its state. Its entry stores these fields, and its event
 * publishes them.
 */
export const readingFields = {
  total_duration_ms: z.number().optional(),
  error: z.string().optional(),
};

export type ReadingFields = Readonly<z.infer<z.ZodObject<typeof readingFields>>>;

const ourTime = z.string().refine((text) => !Number.isNaN(Date.parse(text)));

const everyEntry = {
  /** All copies of the event carry this id. */
  id: z.string(),
  /** Entries are numbered 1, 2, 3, ... without gaps in the journal of their item. */
  revision: z.number().int().positive(),
  /** The bridge observed this at this time by its own clock, ISO 8601. */
  observed_at: ourTime,
};

/** Names the command through the bridge that started an operation, and the client that sent it. */
export const commandOrigin = z.object({
  client_id: z.string(),
  request_id: z.string(),
  /** W3C Trace Context of the client's request; absent when the client sent none. */
  traceparent: z.string().optional(),
});

const stateChangedEntry = z.object({
  ...everyEntry,
  type: z.literal('state_changed'),
  sequence: z.number().int().positive(),
  previous_status: z.string().nullable(),
  status: z.string(),
  failures_count: z.number(),
  new_failures: z.number(),
  operation_updated_at: z.string(),
  ...readingFields,
  observed_by: z.enum(['poll', 'command', 'backfill', 'sweep']),
  late: z.literal(true).optional(),
  irregular: z.literal(true).optional(),
  /** It is set on the end of an operation that had been reported as stalled. */
  was_stalled: z.literal(true).optional(),
  command: commandOrigin.optional(),
});

/** Says how long operations of an action took that ended within seven days, in milliseconds. */
const usualDuration = z.object({
  /** `project`: these were operations of the same project. `account`: the project had too few of the action. */
  basis: z.enum(['project', 'account']),
  operation_count: z.number().int().positive(),
  p50_ms: z.number().nonnegative(),
  p95_ms: z.number().nonnegative(),
  p99_ms: z.number().nonnegative(),
});

const stalledEntry = z.object({
  ...everyEntry,
  type: z.literal('operation_stalled'),
  status: z.string(),
  failures_count: z.number(),
  /** This many milliseconds have passed since the upstream created the operation. */
  open_ms: z.number(),
  /** The operation has passed this threshold in milliseconds. Each threshold is reported once per operation. */
  threshold_ms: z.number(),
  /** The threshold rests on this. It is absent when the configuration fixes the threshold. */
  usual_duration: usualDuration.optional(),
});

const watchEndedEntry = z.object({
  ...everyEntry,
  type: z.literal('watch_ended'),
  /**
   * `vanished`: the operation is gone upstream although it was open. `not_retried`: it failed, and was not retried
   * within the watch period. `project_gone`: it was open when its project went.
   */
  reason: z.enum(['vanished', 'not_retried', 'project_gone']),
  status: z.string(),
  failures_count: z.number(),
});

const projectSeenEntry = z.object({
  ...everyEntry,
  type: z.enum(['project_discovered', 'project_unreachable']),
  /**
   * Says why the project cannot be reached. A discovery has no reason. Entries of the first version have none and
   * mean `gone`.
   */
  reason: z.enum(['gone', 'not_read']).optional(),
});

const projectTransferredEntry = z.object({
  ...everyEntry,
  type: z.literal('project_transferred'),
  from_account_id: z.string(),
});

/** A figure of the billing period has reached a share of its limit. */
const usageCrossedEntry = z.object({
  ...everyEntry,
  type: z.literal('usage_crossed'),
  metric: z.enum(['active_time_seconds', 'compute_time_seconds']),
  limit_from: z.enum(['quota', 'configuration']),
  limit: z.number(),
  used: z.number(),
  percent: z.number(),
  threshold_percent: z.number(),
  resets_at: z.string(),
});

export const accountHealthEntry = z.object({
  ...everyEntry,
  type: z.enum(['account_degraded', 'account_recovered']),
  reason: z.enum(['key_rejected', 'upstream_failing']),
});

const accountWatchedEntry = z.object({
  ...everyEntry,
  type: z.literal('account_watched'),
  project_count: z.number().int().nonnegative(),
  /** At that time, this many of the account's operations had failed and had not ended. */
  failing_count: z.number().int().nonnegative(),
});

/** Describes one operation of a command, as it was recorded when the command settled. */
const commandOperation = z.object({
  operation_id: z.string(),
  action: z.string(),
  status: z.string(),
  failures_count: z.number(),
});

const commandSettledEntry = z.object({
  ...everyEntry,
  type: z.literal('command_settled'),
  /**
   * `incomplete`: the deadline passed before every operation of the command had ended. `refused`, `expired`,
   * `cancelled`, `denied` and `unknown` are ends of commands that waited in line.
   */
  outcome: z.enum([
    'succeeded',
    'failed',
    'incomplete',
    'refused',
    'expired',
    'cancelled',
    'denied',
    'unknown',
  ]),
  operations: z.array(commandOperation),
  /** These operations had not ended at the deadline. */
  missing: z.array(z.string()),
});

const branchEntry = z.object({
  ...everyEntry,
  type: z.enum(['branch_ready', 'branch_failed']),
  /** The readiness rests on these operations, which created the branch. */
  operations: z.array(commandOperation),
  /** The creation has started these computes. */
  endpoint_ids: z.array(z.string()),
  /** This many milliseconds passed by the upstream's clock from the beginning of the creation to its last change. */
  duration_ms: z.number().optional(),
});

const computeChangedEntry = z.object({
  ...everyEntry,
  type: z.literal('compute_state_changed'),
  sequence: z.number().int().positive(),
  state: z.enum(['active', 'idle']),
  /** It is null when the state before is not known, which is a gap. */
  previous_state: z.enum(['active', 'idle']).nullable(),
  previous_duration_ms: z.number().optional(),
  reason: z.enum(['started', 'restarted', 'configured', 'suspended', 'inactivity']).optional(),
  operation_id: z.string(),
  action: z.string(),
  /** A compute can be moved to another branch, so each change names its own. */
  branch_id: z.string().optional(),
  operation_updated_at: z.string(),
  command: commandOrigin.optional(),
});

/** The journal of each kind of record may hold these entries. */
export const entriesOf = {
  operation: [stateChangedEntry, stalledEntry, watchEndedEntry],
  project: [projectSeenEntry, projectTransferredEntry, usageCrossedEntry],
  account: [accountHealthEntry, accountWatchedEntry, usageCrossedEntry],
  command: [commandSettledEntry],
  branch: [branchEntry],
  compute: [computeChangedEntry],
} as const;

/** This makes every field of parsed data `readonly`. */
export type Unchangeable<Value> = Value extends string
  ? Value
  : Value extends object
    ? { readonly [Name in keyof Value]: Unchangeable<Value[Name]> }
    : Value;

/** A record has these fields, as its item has them. */
export type Fields<Shape extends z.ZodRawShape> = Unchangeable<z.output<z.ZodObject<Shape>>>;

type Entry<Schema extends z.ZodType> = Unchangeable<z.output<Schema>>;

export type CommandOrigin = Entry<typeof commandOrigin>;
export type StateChangedEntry = Entry<typeof stateChangedEntry>;
export type ObservedBy = StateChangedEntry['observed_by'];
export type StalledEntry = Entry<typeof stalledEntry>;
export type UsualDuration = Entry<typeof usualDuration>;
export type WatchEndReason = Entry<typeof watchEndedEntry>['reason'];
export type OperationEntry = Entry<(typeof entriesOf)['operation'][number]>;
export type ProjectSeenEntry = Entry<typeof projectSeenEntry>;
export type UnreachableReason = NonNullable<ProjectSeenEntry['reason']>;
export type AccountHealthEntry = Entry<typeof accountHealthEntry>;
export type AccountWatchedEntry = Entry<typeof accountWatchedEntry>;
export type UsageCrossedEntry = Entry<typeof usageCrossedEntry>;
export type ProjectEntry = ProjectSeenEntry | Entry<typeof projectTransferredEntry> | UsageCrossedEntry;
export type AccountEntry = AccountHealthEntry | AccountWatchedEntry | UsageCrossedEntry;
export type DegradedReason = AccountHealthEntry['reason'];
export type CommandSettledEntry = Entry<typeof commandSettledEntry>;
export type SettlementOutcome = CommandSettledEntry['outcome'];
export type CommandOperation = Entry<typeof commandOperation>;
export type BranchEntry = Entry<typeof branchEntry>;
export type ComputeChangedEntry = Entry<typeof computeChangedEntry>;
export type ComputeChangeReason = NonNullable<ComputeChangedEntry['reason']>;
export type JournalEntry =
  | OperationEntry
  | ProjectEntry
  | AccountEntry
  | CommandSettledEntry
  | BranchEntry
  | ComputeChangedEntry;
