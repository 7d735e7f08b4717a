/** Names every metric of the bridge once, for the code that emits it and for the alarms that read it. */

export const METRIC_NAMESPACE = 'OperationsBridge';

export const metricUnits = {
  /**
   * It takes this long from the upstream's `updated_at` (whole seconds) to our observation, per State Changed event
   * of a poll.
   */
  DetectionDelayMs: 'Milliseconds',
  UpstreamRequests: 'Count',
  UpstreamThrottled: 'Count',
  UpstreamFailed: 'Count',
  KeyRejected: 'Count',
  /** Counts answers of the upstream that contained our key. No caller gets such an answer. */
  KeyEchoed: 'Count',
  TransitionsRecorded: 'Count',
  /** Counts recorded transitions, by the status that they led to. */
  TransitionsByStatus: 'Count',
  /** Counts failed attempts and errors, by the operation's action. */
  FailuresByAction: 'Count',
  EventsPublished: 'Count',
  EventsParked: 'Count',
  /** Counts entries that were recorded and not yet accepted by the bus when an invocation ended. */
  UnpublishedBacklog: 'Count',
  /**
   * The oldest entry that is recorded and not on the bus has this age, which is 0 when there is none. It is measured
   * about once a minute.
   */
  UnpublishedAgeMs: 'Milliseconds',
  /** Counts readings that are not recorded yet, because too many entries of the operation wait for the bus. */
  TransitionsDeferred: 'Count',
  /** Counts invocations that did not wait for everything under way, because their time was over. */
  InvocationsCutShort: 'Count',
  MalformedRows: 'Count',
  /** A bound of docs/limits.md was met; the log line `bound.met` names it. */
  BoundMet: 'Count',
  /** Counts how often an item of the table, or an entry in one, could not be read and was skipped. */
  ItemsUnreadable: 'Count',
  LateOperations: 'Count',
  ProjectsPolled: 'Count',
  WalksCompleted: 'Count',
  /** The oldest complete walk among the account's projects was this long ago. */
  WalkAgeMs: 'Milliseconds',
  /** Counts projects that wait to be read because of a command, a hint or a wish, summed over one look a second. */
  ReadingsWaiting: 'Count',
  /** Counts requests that the API refused, by reason. */
  ApiRefusals: 'Count',
  /** Counts sessions that began and ended, and reads that showed secrets, by kind. */
  ApiAccesses: 'Count',
  /** Counts queued commands that could not be worked on, because their items or their requests cannot be read. */
  CommandsUnworkable: 'Count',
  /** Counts audit records that could not be written. */
  AuditFailed: 'Count',
  AlertsSent: 'Count',
  AlertsFailed: 'Count',
  /** Counts alerts that a channel refused for good, so that a person must pass them on. */
  AlertsRefused: 'Count',
  AlertItemsUnreadable: 'Count',
  /**
   * The worst channel has accepted nothing for this long while a message was due. It is 0 when all accept, and is
   * measured in every notifier round.
   */
  ChannelDeafMs: 'Milliseconds',
} as const;

export type MetricName = keyof typeof metricUnits;

/** These metrics are split by one more dimension with these values. Each value is billed as a metric of its own. */
export const splitMetrics = {
  TransitionsByStatus: {
    dimension: 'status',
    /** The statuses are those of the specification ("States and transitions"), and `error` of the public contract. */
    values: ['scheduling', 'running', 'finished', 'failed', 'error', 'cancelling', 'cancelled', 'skipped'],
  },
  ApiRefusals: {
    dimension: 'reason',
    values: [
      'unauthenticated',
      'scope-missing',
      'account-wide',
      'project-hidden',
      'rate-limited',
      'sign-in-refused',
      'form-refused',
    ],
  },
  ApiAccesses: { dimension: 'kind', values: ['signed-in', 'signed-out', 'secret-read'] },
  FailuresByAction: {
    dimension: 'action',
    /** The actions are those of the specification ("Operation actions"). */
    values: [
      'apply_config',
      'apply_storage_config',
      'check_availability',
      'create_branch',
      'create_timeline',
      'delete_tenant',
      'start_compute',
      'suspend_compute',
      'tenant_attach',
      'tenant_detach',
      'tenant_reattach',
      'timeline_archive',
      'timeline_unarchive',
    ],
  },
} as const;

export type SplitMetricName = keyof typeof splitMetrics;

/** This value stands for a name of the upstream that the list does not have. */
export const OTHER = 'other';

/** Returns the value of the metric's dimension. */
export function splitBy(metric: SplitMetricName, name: string): string {
  const known: readonly string[] = splitMetrics[metric].values;
  return known.includes(name) ? name : OTHER;
}

export function isSplit(metric: MetricName): metric is SplitMetricName {
  return metric in splitMetrics;
}
