/** Which events are worth telling people, and how urgently: the policy as one pure function from event to notice. */

import * as z from 'zod';
import * as catalog from '../events/catalog.ts';

export const noticeSchema = z.object({
  /** The event's id: what makes a copy recognisable. */
  id: z.string(),
  kind: z.enum([
    'failed',
    'given_up',
    'attempt_failed',
    'stalled',
    'vanished',
    'recovered',
    'account_degraded',
    'account_recovered',
  ]),
  severity: z.enum(['info', 'warning', 'critical']),
  account_id: z.string(),
  observed_at: z.string(),
  project_id: z.string().optional(),
  operation_id: z.string().optional(),
  action: z.string().optional(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  status: z.string().optional(),
  failures_count: z.number().optional(),
  new_failures: z.number().optional(),
  error: z.string().optional(),
  since: z.string().optional(),
  /** Who sent the command that started the operation. */
  client_id: z.string().optional(),
  /** Of an account: why it cannot be read. */
  reason: z.string().optional(),
  open_ms: z.number().optional(),
});

export type Notice = z.infer<typeof noticeSchema>;
export type NoticeKind = Notice['kind'];
export type Severity = Notice['severity'];

/** From the third failure on it is no passing trouble: an upstream retry has failed twice. */
const ESCALATION_FAILURES_COUNT = 3;

/** An upstream can put a whole stack trace into `error`; a notice is stored, and many of them share one item. */
const STORED_ERROR_CHARACTERS = 700;

/** Undefined: nobody has to know. Throws a `ZodError` when the detail is not what its detail type promises. */
export function noticeOf(detailType: string, detail: unknown): Notice | undefined {
  switch (detailType) {
    case catalog.operationStateChanged.detailType:
      return stateNotice(catalog.operationStateChanged.detail.parse(detail));
    case catalog.operationStalled.detailType:
      return stalledNotice(catalog.operationStalled.detail.parse(detail));
    case catalog.operationWatchEnded.detailType:
      return watchEndedNotice(catalog.operationWatchEnded.detail.parse(detail));
    case catalog.accountDegraded.detailType:
    case catalog.accountRecovered.detailType:
      return accountNotice(detailType, catalog.accountDegraded.detail.parse(detail));
    default:
      return undefined;
  }
}

function stateNotice(event: catalog.OperationStateChanged): Notice | undefined {
  const kind = stateKind(event);
  if (kind === undefined) return undefined;
  return compact({
    ...operationFields(event),
    kind,
    severity: stateSeverity(kind, event.failures_count),
    new_failures: event.new_failures,
    error: event.error?.slice(0, STORED_ERROR_CHARACTERS),
    since: event.operation_created_at,
    client_id: event.command?.client_id,
  });
}

function stateKind(event: catalog.OperationStateChanged): NoticeKind | undefined {
  if (event.status === 'error') return 'given_up';
  if (event.status === 'failed') return 'failed';
  // A retry that worked. Its failures were told, or are told with it when they were too quick to be seen.
  if (event.status === 'finished' && event.failures_count > 0) return 'recovered';
  return event.new_failures > 0 ? 'attempt_failed' : undefined;
}

function stateSeverity(kind: NoticeKind, failuresCount: number): Severity {
  if (kind === 'recovered') return 'info';
  return kind === 'given_up' || failuresCount >= ESCALATION_FAILURES_COUNT ? 'critical' : 'warning';
}

function stalledNotice(event: catalog.OperationStalled): Notice {
  return compact({
    ...operationFields(event),
    kind: 'stalled',
    severity: 'warning',
    since: event.operation_created_at,
    open_ms: event.open_ms,
    client_id: event.command?.client_id,
  });
}

function watchEndedNotice(event: z.infer<typeof catalog.operationWatchEnded.detail>): Notice {
  const isGivenUp = event.reason === 'not_retried';
  return compact({
    ...operationFields(event),
    kind: isGivenUp ? 'given_up' : 'vanished',
    severity: isGivenUp ? 'critical' : 'warning',
  });
}

function accountNotice(detailType: string, event: z.infer<typeof catalog.accountDegraded.detail>): Notice {
  const isDegraded = detailType === catalog.accountDegraded.detailType;
  return {
    id: event.id,
    account_id: event.account_id,
    observed_at: event.observed_at,
    reason: event.reason,
    kind: isDegraded ? 'account_degraded' : 'account_recovered',
    severity: isDegraded ? 'critical' : 'info',
  };
}

type OperationEvent = Pick<
  catalog.OperationStateChanged,
  | 'id'
  | 'account_id'
  | 'observed_at'
  | 'project_id'
  | 'operation_id'
  | 'action'
  | 'branch_id'
  | 'endpoint_id'
  | 'status'
  | 'failures_count'
>;

function operationFields(event: OperationEvent) {
  const { id, account_id, observed_at, project_id, operation_id, action } = event;
  const { branch_id, endpoint_id, status, failures_count } = event;
  const identity = { id, account_id, observed_at, project_id, operation_id, action };
  return { ...identity, branch_id, endpoint_id, status, failures_count };
}

/** Without the undefined ones: what is stored and read back is then the same. */
function compact(notice: { [Name in keyof Notice]: Notice[Name] | undefined }): Notice {
  return Object.fromEntries(Object.entries(notice).filter(([, value]) => value !== undefined)) as Notice;
}

/** Notices of one incident are told together: those of one project and action, or of one account. */
export function incidentOf({ account_id, project_id, action }: Notice): string {
  // Ids have no such character; an action that had one could at worst share a message with another.
  return [account_id, project_id ?? '', action ?? ''].join('|');
}
