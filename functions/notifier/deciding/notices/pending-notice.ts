/**
 * Reads a waiting notice from the key of the list index, which says enough to plan messages without reading the item.
 */

import { incidentNameOf, incidentPartsOf, keyPart } from '../../../../shared/alerts/incident-key.ts';
import { type Notice, type NoticeKind, noticeSchema } from './notice.ts';

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
export function projectOf({ project_id }: Pick<PendingNotice, 'project_id'>): string | undefined {
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

/**
 * Returns the sort key in the list index, which puts the oldest notice first. Each part has at most 200 characters,
 * so that the whole stays within the 1,024 bytes of a sort key.
 */
export function pendingOrderOf(notice: Notice, storedAtMs: number): string {
  const parts = [...incidentPartsOf(notice), notice.kind, keyPart(notice.id)];
  return `${new Date(storedAtMs).toISOString()} ${JSON.stringify(parts)}`;
}

const ISO_CHARACTERS = '2026-01-15T12:00:00.000Z'.length;

/**
 * Returns undefined when something else wrote this key. It uses no schema, because a storm brings thousands of keys
 * in every look.
 */
export function parsePending(
  sk: string,
  order: string,
  severity: Notice['severity'],
): PendingNotice | undefined {
  const storedAtMs = Date.parse(order.slice(0, ISO_CHARACTERS));
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
