/**
 * Decides which events people have to know of, and how urgently. The rule of the bus hands over the events that may
 * make a notice, and one pure function makes the notice.
 */

import type * as z from 'zod';
import {
  APPROVAL_DETAIL_TYPE,
  APPROVAL_SOURCE,
  type ApprovalEvent,
  approvalDetail,
} from '../../../shared/events/approval-event.ts';
import * as catalog from '../../../shared/events/catalog.ts';
import { EVENT_SOURCE } from '../../../shared/events/event-names.ts';
import { HIDDEN_MARK, partToSearch, withoutSecretShapes } from '../../../shared/runtime/secret.ts';
import type { Notice, NoticeKind, Severity } from './notice.ts';
import { isEscalated } from './policy.ts';

/** An alert can show these text fields of an event. */
const TEXTS = [
  'account_id',
  'observed_at',
  'project_id',
  'operation_id',
  'action',
  'branch_id',
  'endpoint_id',
  'status',
  'reason',
] as const;

/** Each text is cut to this length, because no schema has checked it. */
const TEXT_CHARACTERS_MAX = 200;

interface PartialEvent extends Partial<Record<(typeof TEXTS)[number], string>> {
  readonly id: string;
  readonly account_id: string;
  readonly observed_at: string;
  readonly unread: 'newer_schema' | 'unknown_value';
}

/** Returns undefined when the event has no id, because copies of it could not be recognised. */
function readPartially(detail: unknown): PartialEvent | undefined {
  const fields: Readonly<Record<string, unknown>> = Object(detail);
  const { id, schema } = fields;
  if (typeof id !== 'string' || id === '') return undefined;
  const texts = TEXTS.flatMap((name) => {
    const value = fields[name];
    return typeof value === 'string' ? [[name, value.slice(0, TEXT_CHARACTERS_MAX)] as const] : [];
  });
  return {
    account_id: 'unknown',
    observed_at: '',
    ...Object.fromEntries(texts),
    id,
    unread: typeof schema === 'number' && schema > 1 ? 'newer_schema' : 'unknown_value',
  };
}

/** The pattern takes failures, their ends, moves of projects, the account's health and questions to people, and leaves out ordinary progress and replays. */
export const alertRulePattern = {
  source: [EVENT_SOURCE, APPROVAL_SOURCE],
  // The archive marks its replays by a name, and the bridge marks its own by a resource.
  'replay-name': [{ exists: false }],
  resources: [{ exists: false }],
  $or: [
    { 'detail-type': ['Operation State Changed'], detail: { status: ['failed', 'error'] } },
    { 'detail-type': ['Operation State Changed'], detail: { new_failures: [{ numeric: ['>', 0] }] } },
    {
      'detail-type': ['Operation State Changed'],
      detail: { status: ['finished', 'cancelled', 'skipped'], failures_count: [{ numeric: ['>', 0] }] },
    },
    {
      'detail-type': ['Operation State Changed'],
      detail: { status: ['finished', 'cancelled', 'skipped'], previous_status: ['failed'] },
    },
    { 'detail-type': ['Operation State Changed'], detail: { was_stalled: [true] } },
    {
      'detail-type': [
        'Operation Stalled',
        'Operation Watch Ended',
        'Account Watched',
        'Project Usage Crossed',
        'Project Transferred',
        'Account Degraded',
        'Account Recovered',
        APPROVAL_DETAIL_TYPE,
      ],
    },
  ],
} as const;

/** The upstream may put a whole stack trace into `error`. This many characters of it are stored and shown. */
const STORED_ERROR_CHARACTERS = 700;

/**
 * Returns the notice that an event of this detail type makes, and undefined when people need not know of the event.
 * An event that does not fit its definition makes a notice of what could be read. Throws when the detail has no id,
 * because it is no event of this bridge.
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
    case catalog.projectUsageCrossed.detailType:
      return usageNotice(catalog.projectUsageCrossed.detail.parse(detail));
    case catalog.accountWatched.detailType:
      return firstSightNotice(catalog.accountWatched.detail.parse(detail));
    case catalog.accountDegraded.detailType:
    case catalog.accountRecovered.detailType:
      return accountNotice(detailType, catalog.accountDegraded.detail.parse(detail));
    case APPROVAL_DETAIL_TYPE:
      return approvalNotice(approvalDetail.parse(detail));
    default:
      return undefined;
  }
}

/** Both have one severity, so that the end goes wherever the question went. */
function approvalNotice({ schema: _schema, call, state, ...event }: ApprovalEvent): Notice {
  const isWanted = state === 'wanted';
  return compact({
    ...event,
    kind: isWanted ? 'approval_wanted' : 'approval_ended',
    severity: 'warning',
    action: call,
    ...(!isWanted && { status: state }),
  });
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
    changed_at: event.operation_updated_at,
    client_id: event.command?.client_id,
  });
}

/**
 * Returns the error without secrets. It is cut only after they were removed, because half a secret has no shape by
 * which it is recognised.
 */
function storedError(error: string): string {
  const searched = partToSearch(error, STORED_ERROR_CHARACTERS);
  return withoutSecretShapes(searched, HIDDEN_MARK).slice(0, STORED_ERROR_CHARACTERS);
}

function stateKind(event: catalog.OperationStateChanged): NoticeKind | undefined {
  // What had begun before the bridge watched stands in the message about the first sight, as a number.
  if (event.observed_by === 'backfill') return undefined;
  if (event.status === 'error') return 'given_up';
  if (event.status === 'failed') return 'failed';
  // The operation has finished after failed attempts. These were reported before, or this notice reports them, when
  // they were too quick for the polls to see.
  const hasFailed = event.failures_count > 0 || event.previous_status === 'failed';
  if (event.status === 'finished' && hasFailed) return 'recovered';
  const isDropped = event.status === 'cancelled' || event.status === 'skipped';
  if (isDropped && hasFailed) return 'cancelled';
  if (event.was_stalled) return 'stall_ended';
  return event.new_failures > 0 ? 'attempt_failed' : undefined;
}

function stateSeverity(kind: NoticeKind, failuresCount: number): Severity {
  if (kind === 'recovered' || kind === 'cancelled' || kind === 'stall_ended') return 'info';
  return kind === 'given_up' || isEscalated({ failures_count: failuresCount }) ? 'critical' : 'warning';
}

function stalledNotice(event: catalog.OperationStalled): Notice {
  return compact({
    ...operationFields(event),
    kind: 'stalled',
    severity: 'warning',
    since: event.operation_created_at,
    open_ms: event.open_ms,
    usual_duration: event.usual_duration,
    client_id: event.command?.client_id,
  });
}

function watchEndedNotice(event: z.infer<typeof catalog.operationWatchEnded.detail>): Notice {
  const operation = operationFields(event);
  // A deletion is no news to the person who made it. The notice only ends an incident that people were told of.
  if (event.reason === 'project_gone')
    return compact({ ...operation, kind: 'project_gone', severity: 'info' });
  const isGivenUp = event.reason === 'not_retried';
  return compact({
    ...operation,
    kind: isGivenUp ? 'given_up' : 'vanished',
    severity: isGivenUp ? 'critical' : 'warning',
  });
}

function firstSightNotice(event: z.infer<typeof catalog.accountWatched.detail>): Notice {
  const { id, account_id, observed_at, project_count, failing_count } = event;
  const found = { project_count, failing_count };
  return { id, account_id, observed_at, found, kind: 'first_sight', severity: 'info' };
}

function usageNotice(event: catalog.ProjectUsageCrossed): Notice {
  const { id, account_id, observed_at, project_id, metric, used, limit, limit_from, percent, resets_at } =
    event;
  return compact({
    id,
    account_id,
    observed_at,
    project_id,
    usage: { metric, used, limit, limit_from, percent, resets_at },
    kind: 'usage',
    severity: percent >= 100 ? 'critical' : 'warning',
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

/** Drops undefined fields, so that a notice is the same before it is stored and after it is read back. */
function compact(notice: { [Name in keyof Notice]: Notice[Name] | undefined }): Notice {
  return Object.fromEntries(Object.entries(notice).filter(([, value]) => value !== undefined)) as Notice;
}
