/**
 * Declares the detail of each event. `npm run generate` writes this file from shared/events/catalog.ts; do not edit it.
 */

/** A value that is newer than this package: every set of values can gain some without notice. */
export type NewValue = string & Record<never, never>;

/** Every event has these fields. */
export interface EventDetail {
  /** Version of this detail. Within a version, fields are only added. */
  schema: 1;
  /** The same on every copy of the event: drop an event whose id you have dealt with. */
  id: string;
  /** The account, as the configuration of the bridge names it. */
  account_id: string;
  /** When the bridge observed this, by its own clock. */
  observed_at: string;
}

/** The command through this bridge that started the operation, and the caller who sent it. */
export interface EventCommand {
  client_id: string;
  request_id: string;
  /** W3C Trace Context of the caller's request, when the caller sent one. */
  traceparent?: string | undefined;
}

export interface EventOperation {
  operation_id: string;
  action: string;
  status: string;
  failures_count: number;
}

/** The status or the failure count of an operation changed, or the operation was seen for the first time. */
export interface OperationStateChanged extends EventDetail {
  project_id: string;
  operation_id: string;
  /** The set is open: new actions can appear without notice. */
  action: string;
  branch_id?: string | undefined;
  /** Absent on operations that are not tied to a compute. */
  endpoint_id?: string | undefined;
  /** 1, 2, 3, ... per operation, without gaps. */
  sequence: number;
  /** The status before this change; null when the operation is seen for the first time. */
  previous_status: string | null;
  /** The set is open: treat an unknown status as not terminal. */
  status: string;
  /** True for finished, skipped, cancelled and error. A failed operation can still be retried. */
  terminal: boolean;
  failures_count: number;
  /** Failed attempts since the previous event, including those that began and ended between two reads. */
  new_failures: number;
  /** The upstream's error text, when it gives one. */
  error?: string | undefined;
  /** As the upstream gives it, in whole seconds. */
  operation_created_at: string;
  /** As the upstream gives it, in whole seconds. */
  operation_updated_at: string;
  total_duration_ms?: number | undefined;
  observed_by: 'poll' | 'command' | 'backfill' | 'sweep' | NewValue;
  /** The operation was found in a part of the list that an earlier walk had read completely. */
  late?: true | undefined;
  /** The two states contradict each other: the operation left a terminal status, or has fewer failures than before. */
  irregular?: true | undefined;
  /** The operation has ended with this change, and Operation Stalled was published of it before. */
  was_stalled?: true | undefined;
  command?: EventCommand | undefined;
}

/** A command through the bridge has come to its end: every operation that it started has ended, it started none, the deadline for them has passed, or the command left its line without being carried out. */
export interface CommandSettled extends EventDetail {
  project_id: string;
  command: EventCommand;
  /** The call of the upstream API, by its name in the API documentation. */
  call: string;
  /** succeeded: all operations finished or were skipped. failed: all operations ended, and at least one ended otherwise; or the bridge could not work on a command that waited in line. incomplete: the deadline for the operations passed first. The others are ends of commands that waited in line. refused: the upstream refused the command. expired: its own deadline passed before it could be sent, or nobody decided within 24 hours whether to approve it. cancelled: a caller withdrew it before it was sent. denied: it needed the approval of a person, who said no. unknown: it was sent, and no answer says whether it was carried out; it is never sent again. */
  outcome: 'succeeded' | 'failed' | 'incomplete' | 'refused' | 'expired' | 'cancelled' | 'denied' | 'unknown' | NewValue;
  /** The recorded operations of the command, with their last status. */
  operations: EventOperation[];
  /** Ids of the operations that had not ended at the deadline. */
  missing: string[];
}

/** A new branch can be used: the operation that created it has finished, and everything that was started with it has finished or was skipped. It is published once per branch, whoever created it. */
export interface BranchReady extends EventDetail {
  project_id: string;
  branch_id: string;
  /** The operations that were started to create the branch, with their last status. The event rests on them. */
  operations: EventOperation[];
  /** The computes that the creation started. */
  endpoint_ids: string[];
  /** Milliseconds from the beginning of the creation to its last change, by the upstream's clock, which shows whole seconds. */
  duration_ms?: number | undefined;
  command?: EventCommand | undefined;
}

/** A new branch did not become ready: an operation of its creation was cancelled, ended with an error, or is no longer watched. Branch Ready follows if that operation ends well after all. */
export interface BranchFailed extends EventDetail {
  project_id: string;
  branch_id: string;
  /** The operations that were started to create the branch, with their last status. The event rests on them. */
  operations: EventOperation[];
  /** The computes that the creation started. */
  endpoint_ids: string[];
  /** Milliseconds from the beginning of the creation to its last change, by the upstream's clock, which shows whole seconds. */
  duration_ms?: number | undefined;
  command?: EventCommand | undefined;
}

/** A compute became active or idle, as the end of one of its operations shows. No request to the upstream is spent on it. */
export interface ComputeStateChanged extends EventDetail {
  project_id: string;
  endpoint_id: string;
  branch_id?: string | undefined;
  /** 1, 2, 3, ... per compute, without gaps. */
  sequence: number;
  state: 'active' | 'idle' | NewValue;
  /** The state before; null when it is not known, for example because the compute was seen for the first time, or because a change was missed in between. */
  previous_state: 'active' | 'idle' | NewValue | null;
  /** How long the state before lasted, in milliseconds by the upstream's clock. Absent when that is not known. */
  previous_duration_ms?: number | undefined;
  /** started: a start of its own, by a connection or a call. restarted: suspended and started together. configured: an idle compute became active for a moment to take a configuration. suspended: a command through this bridge suspended it. inactivity: suspended by no command through this bridge, and together with no other operation. Absent when it is not known. */
  reason?: 'started' | 'restarted' | 'configured' | 'suspended' | 'inactivity' | NewValue | undefined;
  /** The operation that brought the state. */
  operation_id: string;
  action: string;
  /** As the upstream gives it, in whole seconds. */
  operation_updated_at: string;
  command?: EventCommand | undefined;
}

/** An operation has been open for longer than its action usually takes. It is published once per operation and threshold, and once per operation when the threshold comes from what is usual. */
export interface OperationStalled extends EventDetail {
  project_id: string;
  operation_id: string;
  /** The set is open: new actions can appear without notice. */
  action: string;
  branch_id?: string | undefined;
  /** Absent on operations that are not tied to a compute. */
  endpoint_id?: string | undefined;
  /** The last status that was seen; it is never terminal. */
  status: string;
  failures_count: number;
  /** Milliseconds since the upstream created the operation. */
  open_ms: number;
  /** The threshold, in milliseconds, that the operation has passed. */
  threshold_ms: number;
  /** How long operations of the action took that ended within seven days: half of them at most p50_ms, 95 of 100 p95_ms, 99 of 100 p99_ms. The threshold is three times p99_ms, and at least five minutes. Absent when the configuration fixes the threshold, and when fewer than 20 operations have ended. */
  usual_duration?: {
    /** project: operations of the same project say it. account: those of all projects, because the project had too few of the action. */
    basis: 'project' | 'account' | NewValue;
    /** It rests on this many operations. */
    operation_count: number;
    p50_ms: number;
    p95_ms: number;
    p99_ms: number;
  } | undefined;
  /** As the upstream gives it, in whole seconds. */
  operation_created_at: string;
  command?: EventCommand | undefined;
}

/** The bridge stopped watching an operation that never reached a terminal status. */
export interface OperationWatchEnded extends EventDetail {
  project_id: string;
  operation_id: string;
  /** The set is open: new actions can appear without notice. */
  action: string;
  branch_id?: string | undefined;
  /** Absent on operations that are not tied to a compute. */
  endpoint_id?: string | undefined;
  /** vanished: the upstream no longer has the operation, which was open. not_retried: it failed and was not retried within 30 days. project_gone: it was open when its project went out of sight, a day ago or longer. */
  reason: 'vanished' | 'not_retried' | 'project_gone' | NewValue;
  /** The last status that was seen. */
  status: string;
  failures_count: number;
}

/** A project became visible to the account after the bridge had first listed its projects, or it can be read again after it was unreachable. */
export interface ProjectDiscovered extends EventDetail {
  project_id: string;
}

/** A project is deleted or no longer visible, or it could not be read for ten minutes while the rest of the account could. In the latter case polling continues, and Project Discovered follows when the project can be read again. */
export interface ProjectUnreachable extends EventDetail {
  project_id: string;
  /** gone: its operations answer 404 and a complete listing lacks it. not_read: it exists, but its operations could not be read. Events of the first version have no reason and mean gone. */
  reason?: 'gone' | 'not_read' | NewValue | undefined;
}

/** A project has moved from one account to another, and this bridge watches both. Its operations go on with their sequences under the new account, and neither Project Unreachable nor Project Discovered is published of the move. Project Unreachable comes before it when the new account shows the project only some minutes after the old one has lost it. */
export interface ProjectTransferred extends EventDetail {
  project_id: string;
  /** The account that had the project before. */
  from_account_id: string;
  /** The account that has it since, which is also `account_id`. */
  to_account_id: string;
}

/** What a project has used in its billing period, or all projects of the account together, has reached a share of its limit. It is published once for each limit, threshold and period. When one reading has passed several thresholds, there is one event, for the highest of them. */
export interface ProjectUsageCrossed extends EventDetail {
  /** Absent when the event is about all projects together. */
  project_id?: string | undefined;
  scope: 'project' | 'account' | NewValue;
  /** active_time_seconds: how long computes were active. compute_time_seconds: the same times the size of the compute, in compute units. */
  metric: 'active_time_seconds' | 'compute_time_seconds' | NewValue;
  /** So many seconds were used in the period. */
  used: number;
  /** The limit of the metric, in seconds. */
  limit: number;
  /** quota: the quota of the project, at which the upstream suspends its computes until the period ends. configuration: a limit of this bridge, at which nothing is suspended. */
  limit_from: 'quota' | 'configuration' | NewValue;
  /** The share of the limit that was used, cut to a whole number. */
  percent: number;
  /** The highest threshold that was reached. */
  threshold_percent: number;
  /** The period ends then, and what was used counts from 0 again. It names the period. */
  resets_at: string;
}

/** Every project of the account was read for the first time, so from now on its events are on time. It is published once for each account. */
export interface AccountWatched extends EventDetail {
  /** The account has this many visible projects. */
  project_count: number;
  /** This many operations had failed then and had not ended. They began before the bridge watched. */
  failing_count: number;
}

/** Nothing of the account can be read at present, so its events will be late. */
export interface AccountDegraded extends EventDetail {
  /** key_rejected: the upstream answers 401, also after a fresh read of the key. upstream_failing: no call has succeeded for minutes. */
  reason: 'key_rejected' | 'upstream_failing' | NewValue;
}

/** The account can be read again. `reason` says why it could not be read. */
export interface AccountRecovered extends EventDetail {
  /** key_rejected: the upstream answers 401, also after a fresh read of the key. upstream_failing: no call has succeeded for minutes. */
  reason: 'key_rejected' | 'upstream_failing' | NewValue;
}

/** The type of the detail, by the detail type of the event. */
export interface BridgeEventDetails {
  'Operation State Changed': OperationStateChanged;
  'Command Settled': CommandSettled;
  'Branch Ready': BranchReady;
  'Branch Failed': BranchFailed;
  'Compute State Changed': ComputeStateChanged;
  'Operation Stalled': OperationStalled;
  'Operation Watch Ended': OperationWatchEnded;
  'Project Discovered': ProjectDiscovered;
  'Project Unreachable': ProjectUnreachable;
  'Project Transferred': ProjectTransferred;
  'Project Usage Crossed': ProjectUsageCrossed;
  'Account Watched': AccountWatched;
  'Account Degraded': AccountDegraded;
  'Account Recovered': AccountRecovered;
}
