/** A notice that waits, as the key of the list index shows it: enough to plan without reading the item. */

import { createHash } from 'node:crypto';
import { type Notice, type NoticeKind, noticeSchema } from './notice.ts';

export interface PendingNotice {
  /** Sort key of its item. */
  readonly sk: string;
  /** When it was stored: the oldest goes first. */
  readonly stored_at_ms: number;
  readonly severity: Notice['severity'];
  readonly account_id: string;
  readonly project_id: string;
  /** Or the name of a channel, when the notice is about one. */
  readonly action: string;
  readonly kind: Notice['kind'];
  readonly id: string;
}

/** Ids as the upstream and the bridge make them. Whatever else comes from outside stands in a key by its hash. */
const PLAIN = /^[\w.:-]{0,200}$/;

export function keyPart(text: string): string {
  return PLAIN.test(text) ? text : `~${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

type Place = Pick<Notice, 'account_id' | 'project_id' | 'action' | 'channel'>;

/** Notices of one incident are reported together: those of one project and action, of one account, or of one channel. */
export function incidentOf({ account_id, project_id = '', action = '', channel }: Place): string {
  return [account_id, project_id, channel ?? action].map(keyPart).join('|');
}

const KINDS: ReadonlySet<unknown> = new Set(noticeSchema.shape.kind.options);

/** Oldest first. The parts have at most 200 characters each, so that the whole stays within a key's 1,024 bytes. */
export function pendingOrderOf(notice: Notice, storedAtMs: number): string {
  const { account_id, project_id = '', action = '', channel, kind, id } = notice;
  const parts = [account_id, project_id, channel ?? action].map(keyPart);
  return `${new Date(storedAtMs).toISOString()} ${JSON.stringify([...parts, kind, keyPart(id)])}`;
}

const ISO_CHARACTERS = '2026-01-15T12:00:00.000Z'.length;

/** Undefined: something else wrote this key. Without a schema, since a storm has thousands of them in every look. */
export function parsePending(
  sk: string,
  order: string,
  severity: Notice['severity'],
): PendingNotice | undefined {
  const storedAtMs = Date.parse(order.slice(0, ISO_CHARACTERS));
  const parts = parseTexts(order.slice(ISO_CHARACTERS));
  const [account_id = '', project_id = '', action = '', kind, id = ''] = parts;
  if (Number.isNaN(storedAtMs) || parts.length !== 5 || !isKind(kind)) return undefined;
  return { sk, stored_at_ms: storedAtMs, severity, account_id, project_id, action, kind, id };
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

/** An alert that says at least where, when the stored notice itself cannot be read. */
export function noticeOfKey({ id, severity, account_id, project_id, action }: PendingNotice): Notice {
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
