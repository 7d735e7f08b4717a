/**
 * Defines what the notifier writes into the table and other functions read: the key of an incident, what became of a
 * notice, and when a channel counts as deaf.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { isoTimeOf } from '../records/time.ts';
import { alertListOf, alertNoticeKey } from '../store/keys.ts';
import { type Attribute, LIST_INDEX } from '../store/table.ts';

/** An incident is about a project and an action, about an account, about an alert channel, or about a question to a person. */
export interface IncidentSubject {
  readonly account_id: string;
  readonly project_id?: string | undefined;
  readonly action?: string | undefined;
  readonly channel?: string | undefined;
  /** Each question to a person is an incident of its own. */
  readonly approval_id?: string | undefined;
}

/** The upstream and the bridge make ids of this form. Any other text from outside stands in a key by its hash. */
const PLAIN = /^[\w.:-]{0,200}$/;

/**
 * Returns the text itself when it is a plain id, and otherwise `~` and 32 digits of its hash. The result has at most
 * 200 characters.
 */
export function keyPart(text: string): string {
  return PLAIN.test(text) ? text : `~${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
}

export type IncidentParts = readonly [account: string, project: string, actionOrChannel: string];

/** Returns the parts of the name, each of them safe for a key. A part that the incident does not have is empty. */
export function incidentPartsOf({
  account_id,
  project_id = '',
  action = '',
  channel,
  approval_id,
}: IncidentSubject): IncidentParts {
  return [keyPart(account_id), keyPart(project_id), keyPart(approval_id ?? channel ?? action)];
}

export function incidentNameOf(parts: IncidentParts): string {
  return parts.join('|');
}

/** Notices of one incident are reported together: those of one project and action, of one account, or of one channel. */
export function incidentOf(subject: IncidentSubject): string {
  return incidentNameOf(incidentPartsOf(subject));
}

/** Returns the id by which callers name an incident: 32 digits of the hash of its name, which are safe in a path. */
export function incidentIdOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}

/** Returns what can be read back from a name. A part that was hashed stays hashed, and a channel reads as an action. */
export function subjectOfIncident(name: string): IncidentSubject {
  const [account_id = 'unknown', project_id, action] = name.split('|');
  return { account_id, ...(project_id && { project_id }), ...(action && { action }) };
}

interface ListedNotice extends IncidentSubject {
  readonly id: string;
  readonly kind: string;
  readonly severity: 'info' | 'warning' | 'critical';
}

/**
 * Returns the sort key in the list index, which puts the oldest notice first. Each part has at most 200 characters,
 * so that the whole stays within the 1,024 bytes of a sort key.
 */
export function pendingOrderOf(notice: ListedNotice, storedAtMs: number): string {
  const parts = [...incidentPartsOf(notice), notice.kind, keyPart(notice.id)];
  return `${isoTimeOf(storedAtMs)} ${JSON.stringify(parts)}`;
}

/** Returns the item of a notice that waits on the channel. */
export function waitingNotice(channel: string, notice: ListedNotice, storedAtMs: number) {
  const order = pendingOrderOf(notice, storedAtMs);
  return {
    key: alertNoticeKey(channel, keyPart(notice.id)),
    order,
    set: {
      kind: 'alert',
      notice: notice as unknown as Attribute,
      [LIST_INDEX.partitionKey]: alertListOf(channel, notice.severity),
      [LIST_INDEX.sortKey]: order,
    },
    condition: { kind: 'absent', name: 'notice' } as const,
  };
}

/**
 * `copy` says that an older version had reported the same event, and `healed` that the failure ended before it woke
 * people, so that only the hourly digest counts it. `acknowledged` says that a person had acknowledged the incident. A notice without an outcome waits.
 */
export type NoticeOutcome = 'reported' | 'refused' | 'copy' | 'healed' | 'acknowledged';

/** A channel that fails once is not deaf: its back-off leaves room for at least two tries within this time. */
export const DEAF_MS = 10 * 60_000;

interface Waiting {
  /** A message has been due since this time, and the channel has accepted none. It is undefined when nothing is due. */
  readonly waiting_since_ms?: number | undefined;
}

/**
 * Returns for how many milliseconds the channel has accepted nothing although a message was due. It is 0 when nothing
 * is due.
 */
export function deafMsOf({ waiting_since_ms: sinceMs }: Waiting, nowMs: number): number {
  return sinceMs === undefined ? 0 : Math.max(0, nowMs - sinceMs);
}

export const olderIncidentFields = z.object({
  /** These notices wait to be reported. */
  pending: z.array(z.unknown()).default([]),
  /** Notices with these ids were reported. They are kept so that a copy is recognized. */
  told_ids: z.array(z.string()).default([]),
});
