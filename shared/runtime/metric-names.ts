/** Every metric of the bridge, named once for the code that emits it and for the alarms that read it. */

export const METRIC_NAMESPACE = 'OperationsBridge';

export const metricUnits = {
  /** From the upstream's `updated_at` (whole seconds) to our observation, per State Changed event of a poll. */
  DetectionDelayMs: 'Milliseconds',
  UpstreamRequests: 'Count',
  UpstreamThrottled: 'Count',
  UpstreamFailed: 'Count',
  KeyRejected: 'Count',
  TransitionsRecorded: 'Count',
  EventsPublished: 'Count',
  EventsParked: 'Count',
  /** Entries recorded and not yet accepted by the bus when a run ended. */
  UnpublishedBacklog: 'Count',
  /** Of the oldest entry that is recorded and not on the bus; 0 when there is none. About once a minute. */
  UnpublishedAgeMs: 'Milliseconds',
  MalformedRows: 'Count',
  LateOperations: 'Count',
  ProjectsPolled: 'Count',
  WalksCompleted: 'Count',
  /** Since the oldest complete walk among the account's projects. */
  WalkAgeMs: 'Milliseconds',
  AlertsSent: 'Count',
  AlertsFailed: 'Count',
} as const;

export type MetricName = keyof typeof metricUnits;
