/** Which events are worth telling people, and how urgently: the policy as one pure function from event to notice. */

import * as z from 'zod';
import * as catalog from '../events/catalog.ts';
import { HIDDEN_MARK, withoutSecretShapes } from '../runtime/secret-shapes.ts';
import { readPartially } from './partial-event.ts';

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
    'cancelled',
    'account_degraded',
    'account_recovered',
    'reminder',
    'channel_deaf',
    'channel_back',
    'unreadable',
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
  /** Of the event within its operation: what is older is known by it. */
  sequence: z.number().optional(),
  failures_count: z.number().optional(),
  new_failures: z.number().optional(),
  error: z.string().optional(),
  since: z.string().optional(),
  /** Who sent the command that started the operation. */
  client_id: z.string().optional(),
  /** Of an account: why it cannot be read. Of a channel: how it answers. */
  reason: z.string().optional(),
  open_ms: z.number().optional(),
  /** The channel that takes no messages, or takes them again. */
  channel: z.string().optional(),
  /** The event did not fit this version of the bridge; only a part of it could be read. */
  unread: z.enum(['newer_schema', 'unknown_value']).optional(),
  /** Set when it is sent: the end of the operation was reported before this older failure came in. */
  has_ended: z.boolean().optional(),
  /** Set when it is sent: a mute that is over kept it back. */
  was_muted: z.boolean().optional(),
});

export type Notice = z.infer<typeof noticeSchema>;
export type NoticeKind = Notice['kind'];
export type Severity = Notice['severity'];

/** From the third failure on it is no passing trouble: an upstream retry has failed twice. */
const ESCALATION_FAILURES_COUNT = 3;

/** An upstream can put a whole stack trace into `error`; this much of it is stored and shown. */
const STORED_ERROR_CHARACTERS = 700;

/**
 * Undefined: nobody has to know. An event that does not fit its definition gives a notice of what could be read. Throws when
 * the detail has no id, so that it is no event of this bridge at all.
 */
export function noticeOf(detailType: string, detail: unknown): Notice | undefined {
  try {
    return knownNoticeOf(detailType, detail);
  } catch (error) {
    return partialNoticeOf(detailType, detail) ?? fail(error);
  }
}

function partialNoticeOf(detailType: string, detail: unknown): Notice | undefined {
  const read = readPartially(detail);
  if (read === undefined) return undefined;
  if (read.unread === 'newer_schema') {
    try {
      const notice = knownNoticeOf(detailType, { ...Object(detail), schema: 1 });
      return notice && { ...notice, unread: read.unread };
    } catch {
      // The newer schema has changed more than its number.
    }
  }
  return compact({ ...read, kind: 'unreadable', severity: read.status === 'error' ? 'critical' : 'warning' });
}

function fail(error: unknown): never {
  throw error;
}

function knownNoticeOf(detailType: string, detail: unknown): Notice | undefined {
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
    sequence: event.sequence,
    new_failures: event.new_failures,
    error: event.error && storedError(event.error),
    since: event.operation_created_at,
    client_id: event.command?.client_id,
  });
}

/** Without secrets, and only then cut: half a secret has no shape. */
function storedError(error: string): string {
  return withoutSecretShapes(error, HIDDEN_MARK).slice(0, STORED_ERROR_CHARACTERS);
}

function stateKind(event: catalog.OperationStateChanged): NoticeKind | undefined {
  if (event.status === 'error') return 'given_up';
  if (event.status === 'failed') return 'failed';
  // A retry that worked. Its failures were told, or are told with it when they were too quick to be seen.
  if (event.status === 'finished' && event.failures_count > 0) return 'recovered';
  const isDropped = event.status === 'cancelled' || event.status === 'skipped';
  if (isDropped && event.failures_count > 0) return 'cancelled';
  return event.new_failures > 0 ? 'attempt_failed' : undefined;
}

function stateSeverity(kind: NoticeKind, failuresCount: number): Severity {
  if (kind === 'recovered' || kind === 'cancelled') return 'info';
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
