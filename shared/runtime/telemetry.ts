/**
 * Defines the only way in which the bridge writes log lines and metrics, and names everything that it measures once.
 * Fields are named one by one where they are written, and no request, answer or error object is ever passed on whole.
 * CloudWatch bills every metric by the month, so most figures stand in the log alone.
 */

export const METRIC_NAMESPACE = 'OperationsBridge';

/**
 * CloudWatch keeps these metrics. An alarm or the dashboard reads each of them, and they are not split by account: the
 * worst account is the maximum of the metric, and the record of the metric in the log names the account.
 */
export const metricUnits = {
  /**
   * It takes this long from the upstream's `updated_at` (whole seconds) until the bus has accepted the event, per State
   * Changed event of a poll. History, rows that the upstream showed late, and the first walk of a project do not count.
   */
  PublishDelayMs: 'Milliseconds',
  /** The upstream refused this share of an account's requests in one invocation for their rate. */
  UpstreamThrottledPercent: 'Percent',
  KeyRejected: 'Count',
  /** Counts readings of a secret that failed. What was read last is used for a day at most. */
  SecretsUnreadable: 'Count',
  /** Counts answers of the upstream that contained our key. No caller gets such an answer. */
  KeyEchoed: 'Count',
  EventsParked: 'Count',
  /**
   * The oldest entry that is recorded and not on the bus has this age, which is 0 when there is none. It is measured
   * about once a minute.
   */
  UnpublishedAgeMs: 'Milliseconds',
  /** A bound of docs/limits.md was met; the log line `bound.met` names it. */
  BoundMet: 'Count',
  /** Counts how often an item of the table, or an entry in one, could not be read and was skipped. */
  ItemsUnreadable: 'Count',
  /** The oldest complete walk among the account's projects was this long ago. */
  WalkAgeMs: 'Milliseconds',
  /** Counts accounts that a lane has set aside because their pollers threw errors. */
  AccountsSetAside: 'Count',
  /** Counts requests without a valid token. */
  TokensRefused: 'Count',
  /** Counts queued commands that could not be worked on, because their items or their requests cannot be read. */
  CommandsUnworkable: 'Count',
  /** Counts calls by which a task of a workflow would have been ended, and which AWS denied or the bridge gave up. */
  CallbacksRefused: 'Count',
  /** Counts audit records that could not be written. */
  AuditFailed: 'Count',
  /** Counts alerts that a channel refused for good, so that a person must pass them on. */
  AlertsRefused: 'Count',
  /**
   * The worst channel has accepted nothing for this long while a message was due. It is 0 when all accept, and is
   * measured in every notifier round.
   */
  ChannelDeafMs: 'Milliseconds',
} as const;

export type MetricName = keyof typeof metricUnits;

/** Nothing alarms on these figures. Each invocation writes their sums in one log line, `figures.logged`. */
export const loggedUnits = {
  /** It takes this long from the upstream's `updated_at` to our observation, per State Changed event of a poll. */
  DetectionDelayMs: 'Milliseconds',
  UpstreamRequests: 'Count',
  UpstreamThrottled: 'Count',
  UpstreamFailed: 'Count',
  TransitionsRecorded: 'Count',
  /** Counts recorded transitions, by the status that they led to. */
  TransitionsByStatus: 'Count',
  /** Counts failed attempts and errors, by the operation's action. */
  FailuresByAction: 'Count',
  EventsPublished: 'Count',
  /**
   * The number of entries that are recorded and that the bus has not accepted; a lower bound when more than a thousand items wait. It is
   * measured about once a minute, and the line of an invocation has the latest value.
   */
  UnpublishedBacklog: 'Latest',
  /** Counts readings that are not recorded yet, because too many entries of the operation wait for the bus. */
  TransitionsDeferred: 'Count',
  /** Counts invocations that did not wait for everything under way, because their time was over. */
  InvocationsCutShort: 'Count',
  MalformedRows: 'Count',
  ListsOutOfOrder: 'Count',
  LateOperations: 'Count',
  ProjectsPolled: 'Count',
  WalksCompleted: 'Count',
  /** Counts projects that wait to be read because of a command, a hint or a wish, summed over one look a second. */
  ReadingsWaiting: 'Count',
  /** Counts requests that the API refused, by reason. */
  ApiRefusals: 'Count',
  /** Counts sessions that began and ended, and reads that showed secrets, by kind. */
  ApiAccesses: 'Count',
  AlertsSent: 'Count',
  AlertsFailed: 'Count',
} as const;

export type LoggedName = keyof typeof loggedUnits;

/** Everything that `Telemetry.measure` takes. */
export type FigureName = MetricName | LoggedName;

/** These figures are split by names; the log line has a field for each of them. */
export const splitFigures = {
  /** The statuses are those of the specification ("States and transitions"), and `error` of the public contract. */
  TransitionsByStatus: [
    'scheduling',
    'running',
    'finished',
    'failed',
    'error',
    'cancelling',
    'cancelled',
    'skipped',
  ],
  ApiRefusals: [
    'unauthenticated',
    'scope-missing',
    'account-wide',
    'project-hidden',
    'rate-limited',
    'sign-in-refused',
    'form-refused',
  ],
  ApiAccesses: ['signed-in', 'signed-out', 'secret-read'],
  /** The actions are those of the specification ("Operation actions"). */
  FailuresByAction: [
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
} as const;

export type SplitFigureName = keyof typeof splitFigures;

/** This value stands for a name of the upstream that the list does not have. */
export const OTHER = 'other';

/** Returns the name under which the figure is counted. */
export function splitBy(figure: SplitFigureName, name: string): string {
  const known: readonly string[] = splitFigures[figure];
  return known.includes(name) ? name : OTHER;
}

export function isSplit(figure: FigureName): figure is SplitFigureName {
  return figure in splitFigures;
}

export function isMetric(figure: FigureName): figure is MetricName {
  return figure in metricUnits;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A log line holds plain values only. A whole event, header, body or error object must not be logged. */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Telemetry {
  log(level: LogLevel, event: string, fields?: LogFields): void;
  /**
   * The unit is part of the figure's name. `name` is what a figure is split by (`splitFigures`). A metric goes to
   * CloudWatch; every other figure goes into one log line per invocation.
   */
  measure(figure: FigureName, value: number, name?: string): void;
}

export const silentTelemetry: Telemetry = { log: () => {}, measure: () => {} };
