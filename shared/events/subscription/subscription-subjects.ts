/** Lists what people subscribe to, by the words that they use, and which events these words mean. */

import { DETAIL_TYPES } from '../event-names.ts';

export interface SubscriptionSubject {
  /** The option of the command that chooses it, without its dashes. */
  readonly flag: string;
  /** Completes the sentence "The subscriber gets ...". */
  readonly meaning: string;
  /** The `detail-type` of the events. An empty list means every event of the bridge. */
  readonly detailTypes: readonly string[];
  /** Conditions on the detail that always hold, as an EventBridge pattern. */
  readonly conditions: Readonly<Record<string, unknown>>;
  /** The field of the detail that a filter by status looks at. Without it, there is no such filter. */
  readonly statusField?: 'status' | 'state' | 'outcome';
  /** The only values that `statusField` has. Without it, the set is open, and any value may be asked for. */
  readonly statuses?: readonly string[];
  readonly hasProject: boolean;
  readonly hasAction: boolean;
}

const aboutOperations = {
  detailTypes: [DETAIL_TYPES.state_changed],
  hasProject: true,
  hasAction: true,
} as const;

const SUBSCRIPTION_SUBJECTS = {
  failures: {
    ...aboutOperations,
    flag: 'failed',
    meaning: 'each failed attempt of an operation, and each operation that was given up with an error',
    // The status `failed` would also match events that repeat no attempt, and miss an attempt that is already running again.
    conditions: { $or: [{ new_failures: [{ numeric: ['>', 0] }] }, { status: ['error'] }] },
  },
  endedOperations: {
    ...aboutOperations,
    flag: 'ended',
    meaning: 'each operation that has ended, well or not',
    conditions: { terminal: [true] },
    statusField: 'status',
    statuses: ['finished', 'skipped', 'cancelled', 'error'],
  },
  operations: {
    ...aboutOperations,
    flag: 'operations',
    meaning: 'each change of an operation',
    conditions: {},
    statusField: 'status',
  },
  stalledOperations: {
    ...aboutOperations,
    flag: 'stalled',
    meaning: 'each operation that is open for longer than its action usually takes',
    detailTypes: [DETAIL_TYPES.operation_stalled],
    conditions: {},
  },
  readyBranches: {
    flag: 'ready-branches',
    meaning: 'each new branch that can be used',
    detailTypes: [DETAIL_TYPES.branch_ready],
    conditions: {},
    hasProject: true,
    hasAction: false,
  },
  failedBranches: {
    flag: 'failed-branches',
    meaning: 'each new branch that did not become ready',
    detailTypes: [DETAIL_TYPES.branch_failed],
    conditions: {},
    hasProject: true,
    hasAction: false,
  },
  computes: {
    flag: 'computes',
    meaning: 'each compute that became active or idle',
    detailTypes: [DETAIL_TYPES.compute_state_changed],
    conditions: {},
    statusField: 'state',
    hasProject: true,
    hasAction: true,
  },
  settledCommands: {
    flag: 'commands',
    meaning: 'each command through the bridge that has come to its end',
    detailTypes: [DETAIL_TYPES.command_settled],
    conditions: {},
    statusField: 'outcome',
    hasProject: true,
    hasAction: false,
  },
  accountHealth: {
    flag: 'account-health',
    meaning: 'each account of which nothing can be read, and each that can be read again',
    detailTypes: [DETAIL_TYPES.account_degraded, DETAIL_TYPES.account_recovered],
    conditions: {},
    hasProject: false,
    hasAction: false,
  },
  everything: {
    flag: 'everything',
    meaning: 'every event of the bridge',
    detailTypes: [],
    conditions: {},
    hasProject: true,
    hasAction: false,
  },
} as const satisfies Record<string, SubscriptionSubject>;

export type SubjectName = keyof typeof SUBSCRIPTION_SUBJECTS;

export const SUBJECT_NAMES = Object.keys(SUBSCRIPTION_SUBJECTS) as SubjectName[];

/** Returns the subject with the type that all subjects share. */
export function subjectOf(name: SubjectName): SubscriptionSubject {
  return SUBSCRIPTION_SUBJECTS[name];
}
