/** Defines a notice: one thing that people have to know, as it is stored, planned and shown. */

import * as z from 'zod';
import { GRAVITIES, incidentNameOf, incidentOf } from '../../../shared/alerts/incidents.ts';

const healedCounts = z.object({
  operation_count: z.number(),
  /** The digest before had this many operations. Without it there was none. */
  last_operation_count: z.number().optional(),
  by_action: z.array(
    z.object({ action: z.string(), operation_count: z.number(), attempt_count: z.number() }),
  ),
});

const heldBackCounts = z.object({
  /** These alerts were not sent, because a person had acknowledged what they are about. */
  acknowledged_count: z.number(),
  /** These alerts wait for the end of a mute. The first mute ends at `first_until` (ISO 8601). */
  muted: z
    .object({ alert_count: z.number(), incident_count: z.number(), first_until: z.string() })
    .optional(),
});

export const noticeSchema = z.object({
  /** A copy of the notice is recognised by the event's id. */
  id: z.string(),
  kind: z.enum([
    'failed',
    'given_up',
    'attempt_failed',
    'stalled',
    'stall_ended',
    'vanished',
    'recovered',
    'cancelled',
    'moved',
    'project_gone',
    'account_degraded',
    'account_recovered',
    'reminder',
    'digest',
    'first_sight',
    'usage',
    'acknowledged',
    'muted_all',
    'channel_deaf',
    'channel_back',
    'approval_wanted',
    'approval_ended',
    'unreadable',
  ]),
  severity: z.enum(['info', 'warning', 'critical']),
  account_id: z.string(),
  observed_at: z.string(),
  project_id: z.string().optional(),
  /** The upstream's name of the project when the notice was stored. */
  project_name: z.string().optional(),
  operation_id: z.string().optional(),
  action: z.string().optional(),
  branch_id: z.string().optional(),
  endpoint_id: z.string().optional(),
  status: z.string().optional(),
  /**
   * This is the event's place among the events of its operation. An older event has a lower one than a newer event.
   */
  sequence: z.number().optional(),
  failures_count: z.number().optional(),
  new_failures: z.number().optional(),
  /** The project belongs to this account now, and the operation goes on there. */
  moved_to: z.string().optional(),
  error: z.string().optional(),
  since: z.string().optional(),
  /** The upstream says that the operation changed at this time. */
  changed_at: z.string().optional(),
  /** This caller sent the command that started the operation. */
  client_id: z.string().optional(),
  /** The reason says why an account cannot be read, or how a deaf channel answers. */
  reason: z.string().optional(),
  open_ms: z.number().optional(),
  /** Operations of the action took this long in the last seven days. */
  usual_duration: z
    .object({
      basis: z.string(),
      operation_count: z.number(),
      p50_ms: z.number(),
      p95_ms: z.number(),
      p99_ms: z.number(),
    })
    .optional(),
  /** This is set when the notice is sent: the action failed this often in the project in the last hour. */
  last_hour: z.object({ attempt_count: z.number(), is_least: z.boolean().optional() }).optional(),
  /**
   * This is set when the notice is sent, and says how many other projects have the same trouble: the same action began to fail there
   * within ten minutes of this incident, since this time (ISO 8601), and fails still.
   */
  alike: z
    .object({
      project_count: z.number(),
      since: z.string(),
      is_least: z.boolean().optional(),
      /** This number of projects usually begins to fail in that time. It is absent while too little is known. */
      usual_count: z.number().optional(),
      /** It is true when far more projects fail than usually do, so that the cause is probably the service. */
      is_service: z.boolean().optional(),
    })
    .optional(),
  /** A digest counts the failures that ended before they woke people. */
  healed: healedCounts.optional(),
  /** A digest also counts the alerts that people did not want. */
  held_back: heldBackCounts.optional(),
  /** The first reading of the account found these. */
  found: z.object({ project_count: z.number(), failing_count: z.number() }).optional(),
  /** A share of this limit was used in the billing period, in seconds. */
  usage: z
    .object({
      metric: z.string(),
      used: z.number(),
      limit: z.number(),
      limit_from: z.string(),
      percent: z.number(),
      resets_at: z.string(),
    })
    .optional(),
  /** The notice is about this channel, which takes no messages, or takes them again. */
  channel: z.string().optional(),
  /** The event did not fit this version of the bridge, so only a part of it could be read. */
  unread: z.enum(['newer_schema', 'unknown_value']).optional(),
  /** This is set when the notice is sent: the end of the operation was reported before this older failure came in. */
  has_ended: z.boolean().optional(),
  /** This is set when the notice is sent: a mute that has ended since kept it back. */
  was_muted: z.boolean().optional(),
  /** The caller who acknowledged the incident. */
  acknowledged_by: z.string().optional(),
  /** The acknowledgement is about what is this grave, and about what is less grave. */
  acknowledged_gravity: z.enum(GRAVITIES).optional(),
  /** The caller who muted all alerts of the account, until this time (ISO 8601). */
  muted_by: z.string().optional(),
  muted_until: z.string().optional(),
  /** The number of alerts that wait for the deaf channel. */
  waiting_count: z.number().optional(),
  /** A person is asked to approve this call, which `client_id` has sent. Nobody can approve it after `expires_at`. */
  approval_id: z.string().optional(),
  expires_at: z.string().optional(),
  request: z.string().optional(),
  /** This person has decided. */
  decided_by: z.string().optional(),
  /** A person sent the notice to try a channel. Nothing has happened. */
  is_test: z.boolean().optional(),
});

export type Notice = z.infer<typeof noticeSchema>;
export type NoticeKind = Notice['kind'];
export type Severity = Notice['severity'];

/** These notices end what another notice has reported. */
export const TROUBLE_ENDS: ReadonlySet<NoticeKind> = new Set([
  'recovered',
  'cancelled',
  'stall_ended',
  'moved',
  'project_gone',
  'account_recovered',
]);

export interface PendingNotice {
  /** The notice's item has this sort key. */
  readonly sk: string;
  /** The notice was stored at this time. The oldest goes first. */
  readonly stored_at_ms: number;
  readonly severity: Notice['severity'];
  /** The notice belongs to the incident with this name. */
  readonly incident: string;
  readonly account_id: string;
  readonly project_id: string;
  /** This is the action, or the name of the channel when the notice is about one. */
  readonly action: string;
  readonly kind: Notice['kind'];
  readonly id: string;
}

/** Returns the project that the notice is about. A key has an empty text where the notice names no project. */
export function projectOf({ project_id }: PendingNotice): string | undefined {
  return project_id === '' ? undefined : project_id;
}

/** Returns what a mute looks at. The parts of the key are texts of the notice, or hashes of unusual ones. */
export function subjectOfPending(
  pending: PendingNotice,
): Pick<Notice, 'kind' | 'account_id' | 'project_id' | 'action'> {
  const { kind, account_id, action } = pending;
  const project_id = projectOf(pending);
  return {
    kind,
    account_id,
    ...(project_id !== undefined && { project_id }),
    ...(action !== '' && { action }),
  };
}

/** This notice was read from its item and still waits to be reported. */
export interface WaitingNotice {
  readonly sk: string;
  readonly stored_at_ms: number;
  readonly notice: Notice;
}

const KINDS: ReadonlySet<unknown> = new Set(noticeSchema.shape.kind.options);

const ISO_CHARACTERS = '2026-01-15T12:00:00.000Z'.length;

/** Returns when the notice was stored that has this place in its list, and `NaN` when the place does not say it. */
export function storedAtMsOf(order: unknown): number {
  return typeof order === 'string' ? Date.parse(order.slice(0, ISO_CHARACTERS)) : Number.NaN;
}

/**
 * Returns undefined when something else wrote this key. It uses no schema, because a storm brings thousands of keys
 * in every look.
 */
export function parsePending(
  sk: string,
  order: string,
  severity: Notice['severity'],
): PendingNotice | undefined {
  const storedAtMs = storedAtMsOf(order);
  const parts = parseTexts(order.slice(ISO_CHARACTERS));
  const [account_id = '', project_id = '', action = '', kind, id = ''] = parts;
  if (Number.isNaN(storedAtMs) || parts.length !== 5 || !isKind(kind)) return undefined;
  const incident = incidentNameOf([account_id, project_id, action]);
  return { sk, stored_at_ms: storedAtMs, severity, incident, account_id, project_id, action, kind, id };
}

function isKind(text: string | undefined): text is NoticeKind {
  return KINDS.has(text);
}

function parseTexts(text: string): readonly string[] {
  try {
    const parts: unknown = JSON.parse(text);
    return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : [];
  } catch {
    return [];
  }
}

/**
 * Makes a notice from the key alone when its item cannot be read. The alert then shows at least where something
 * happened.
 */
export function noticeOfKey({ id, severity, account_id, project_id, action }: KeyFields): Notice {
  return {
    id,
    severity,
    account_id,
    kind: 'unreadable',
    observed_at: '',
    unread: 'unknown_value',
    ...(project_id !== '' && { project_id }),
    ...(action !== '' && { action }),
  };
}

export type KeyFields = Pick<PendingNotice, 'id' | 'severity' | 'account_id' | 'project_id' | 'action'>;

/** A message has the notices of each incident as a group. No group is more severe than the one above it. */
export type Message = readonly (readonly Notice[])[];

export function incidentCountOf(message: Message): number {
  return new Set(message.flat().map(incidentOf)).size;
}
