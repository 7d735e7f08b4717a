/**
 * Defines incidents as the notifier writes them and other functions read them: the name and id of each, the record of
 * how its operations stand and who has acknowledged it, and beside them the notices that wait on a channel, what became
 * of each, and when a channel counts as deaf.
 */

import { createHash } from 'node:crypto';
import * as z from 'zod';
import { DAY_MS, isoTimeOf } from '../records/time.ts';
import type { Clock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import {
  ACKNOWLEDGED_WORK,
  alertListOf,
  alertNoticeKey,
  incidentKey,
  incidentsListOf,
} from '../store/keys.ts';
import { type Attribute, type Item, listed, type Table, type Update, WORK_INDEX } from '../store/table.ts';
import { ignoreUnreadable, type NoteUnreadable } from '../store/unreadable.ts';

/** An incident is about a project and an action, about an account, about an alert channel, or about a question to a person. */
interface IncidentSubject {
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

type IncidentParts = readonly [account: string, project: string, actionOrChannel: string];

/** Returns the parts of the name, each of them safe for a key. A part that the incident does not have is empty. */
function incidentPartsOf({
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

const standing = z.object({
  state: z.enum(['failing', 'stalled', 'recovered', 'given_up']),
  /** The event with this sequence says so. Without it the event had none. */
  sequence: z.number().optional(),
  observed_at: z.string(),
  /** When true, no message said so: a person had acknowledged the incident. */
  is_untold: z.boolean().optional(),
});

/** How operations stand, by their ids. */
export const operationsSchema = z.record(z.string(), standing);

export type Standing = z.infer<typeof standing>;
export type Operations = Readonly<Record<string, Standing>>;

/**
 * The kinds of trouble, each worse than the one before. `failing` is usually retried with success, and `repeated` means
 * that an operation has failed three times.
 */
export const GRAVITIES = ['failing', 'stalled', 'repeated', 'given_up'] as const;

export type Gravity = (typeof GRAVITIES)[number];

export const acknowledgement = z.object({
  /** ISO 8601, by our clock. */
  at: z.string(),
  /** The caller who acknowledged the incident. */
  client_id: z.string(),
  /** A person wrote it for people. */
  reason: z.string().optional(),
});

export type Acknowledgement = Readonly<z.output<typeof acknowledgement>>;

const incidentRecord = z.object({
  incident_id: z.string(),
  account_id: z.string(),
  /** Without it the incident is about the account itself. */
  project_id: z.string().optional(),
  action: z.string().optional(),
  /**
   * `stalled` when no operation fails and one takes too long, `given_up` when none of these goes on and one was given up,
   * and `recovered` after all have ended well.
   */
  state: z.enum(['failing', 'stalled', 'given_up', 'recovered']),
  /** The worst that has happened since the incident began. */
  gravity: z.enum(GRAVITIES),
  /** ISO 8601 with milliseconds, by the upstream's clock where it is known. */
  began_at: z.string(),
  /** The incident ended at this time: all has recovered, or a person has acknowledged that it was given up. */
  ended_at: z.string().optional(),
  operations: operationsSchema,
  /** The newest failures, each with the id of its event and the number of failed attempts that it reported. */
  failures: z.array(z.object({ id: z.string(), at_ms: z.number(), attempt_count: z.number() })),
  acknowledged: acknowledgement.optional(),
  /** Until this time the notifier informs channels that the incident was acknowledged, or that this was withdrawn. ISO 8601. */
  announce_until: z.string().optional(),
  /** Each write raises it by one and compares it. */
  revision: z.number().int().positive(),
});

export type IncidentRecord = Readonly<z.output<typeof incidentRecord>>;

/** The notifier runs once a minute. What waits for longer than this, because a channel is down, is sent all the same. */
const ANNOUNCED_MS = DAY_MS;

/** Returns whether operations in this state will end or fail for good by themselves. */
export function isOngoing(state: Standing['state'] | 'unknown'): boolean {
  return state === 'failing' || state === 'stalled';
}

/** Returns whether the incident still needs the upstream or a person. */
export function isOpen({ state, acknowledged }: Pick<IncidentRecord, 'state' | 'acknowledged'>): boolean {
  return isOngoing(state) || (state === 'given_up' && acknowledged === undefined);
}

/**
 * Returns the record after a person acknowledged the incident. What was given up has no other end, so it ends. Returns
 * undefined when the incident is not open.
 */
export function acknowledge(
  record: IncidentRecord,
  acknowledged: Acknowledgement,
): IncidentRecord | undefined {
  if (!isOpen(record)) return undefined;
  const announce_until = announceUntil(acknowledged.at);
  const next = { ...record, acknowledged, announce_until, revision: record.revision + 1 };
  return isOpen(next) ? next : { ...next, ended_at: acknowledged.at };
}

/**
 * Returns the record after the acknowledgement was withdrawn at this time (ISO 8601), and undefined when there is none
 * to withdraw.
 */
export function withdrawAcknowledgement(record: IncidentRecord, at: string): IncidentRecord | undefined {
  const { acknowledged, ...rest } = record;
  if (acknowledged === undefined || !isOpen(record)) return undefined;
  return { ...rest, announce_until: announceUntil(at), revision: record.revision + 1 };
}

/** Returns the record of which channels need not be informed any longer, and undefined when it is not such a record yet. */
export function withoutAnnouncement(record: IncidentRecord, nowMs: number): IncidentRecord | undefined {
  const { announce_until, ...rest } = record;
  return announce_until === undefined || Date.parse(announce_until) > nowMs ? undefined : rest;
}

function announceUntil(at: string): string {
  return isoTimeOf(Date.parse(at) + ANNOUNCED_MS);
}

export const INCIDENT_ATTRIBUTES: readonly string[] = Object.keys(incidentRecord.shape);

/** As long as a channel remembers an incident: longer than any operation is watched. */
const INCIDENT_KEPT_MS = 40 * DAY_MS;

/** At most two notifiers and a few people write one incident, so this many lost races are a fault. */
const WRITE_TRIES_MAX = 20;

export interface IncidentStore {
  /** Resolves to undefined when there is no such incident, or its item cannot be read. */
  read(incidentId: string): Promise<IncidentRecord | undefined>;
  /** Resolves to the incidents that exist and can be read, in any order. */
  readMany(incidentIds: readonly string[]): Promise<readonly IncidentRecord[]>;
  /**
   * Writes what `change` returns for the record as it is now, and resolves to it. When another process was faster,
   * `change` is asked again. When it returns undefined, nothing is written, and the result is undefined. An item that
   * cannot be read is left as it is.
   */
  change(
    incidentId: string,
    change: (record: IncidentRecord | undefined) => IncidentRecord | undefined,
  ): Promise<IncidentRecord | undefined>;
}

interface IncidentStorePorts {
  readonly clock: Clock;
  readonly noteUnreadable?: NoteUnreadable;
  /**
   * A process that changes the same incidents again and again keeps here what it wrote last, by incident, and saves the
   * read. A record that another process has changed since is refused by its revision, and read then.
   */
  readonly written?: Map<string, IncidentRecord>;
}

/** A process forgets what it wrote when it has written more incidents than this, at a few hundred bytes each. */
const WRITTEN_MAX = 2_000;

/** Every method rejects when the table does. After a write it is unknown then whether the write was made. */
export function createIncidentStore(
  table: Table,
  accountId: string,
  { clock, noteUnreadable = ignoreUnreadable, written }: IncidentStorePorts,
): IncidentStore {
  const find = async (incidentId: string): Promise<IncidentRecord | 'unreadable' | undefined> => {
    const item = await table.get(incidentKey(accountId, incidentId));
    return item === undefined ? undefined : (readableIncidents([item], noteUnreadable)[0] ?? 'unreadable');
  };
  return {
    async read(incidentId) {
      const found = await find(incidentId);
      return found === 'unreadable' ? undefined : found;
    },

    async readMany(incidentIds) {
      const keys = [...new Set(incidentIds)].map((id) => incidentKey(accountId, id));
      const items = keys.length === 0 ? [] : await table.getMany(keys);
      return readableIncidents(items, noteUnreadable);
    },

    async change(incidentId, change) {
      for (let attempt = 1; attempt <= WRITE_TRIES_MAX; attempt++) {
        const found = written?.get(incidentId) ?? (await find(incidentId));
        written?.delete(incidentId);
        if (found === 'unreadable') return undefined;
        const asked = change(found);
        if (asked === undefined || asked === found) return undefined;
        const next = { ...asked, revision: (found?.revision ?? 0) + 1 };
        if ((await table.update(updateOf(next, clock.now()))) !== 'applied') continue;
        if (written !== undefined && written.size >= WRITTEN_MAX) written.clear();
        written?.set(incidentId, next);
        return next;
      }
      throw new AppError(
        'incident_contended',
        `The record of an incident of ${accountId} changed ${WRITE_TRIES_MAX} times meanwhile`,
      );
    },
  };
}

/**
 * Reads the incidents of all accounts that people have acknowledged and that are open, and those whose acknowledgement
 * has changed within a day. The index can lag by a moment, so one that was acknowledged just now may be missing.
 */
export async function readAcknowledged(
  table: Table,
  noteUnreadable: NoteUnreadable = ignoreUnreadable,
): Promise<readonly IncidentRecord[]> {
  const keys = await table.queryWork({ work: ACKNOWLEDGED_WORK });
  const items = keys.length === 0 ? [] : await table.getMany(keys);
  return readableIncidents(items, noteUnreadable);
}

/** Leaves out the items that cannot be read, and notes them. */
export function readableIncidents(
  items: readonly Item[],
  noteUnreadable: NoteUnreadable,
): readonly IncidentRecord[] {
  return items.flatMap((item) => {
    const { data, error } = incidentRecord.safeParse(item);
    if (data !== undefined) return data;
    noteUnreadable({
      key: { pk: item.pk, sk: item.sk },
      fields: error.issues.map(({ path }) => path.join('.')),
    });
    return [];
  });
}

function updateOf(record: IncidentRecord, nowMs: number): Update {
  const { account_id, incident_id, began_at, ended_at = isoTimeOf(nowMs), revision } = record;
  const isStillOpen = isOpen(record);
  const holdsBack = isStillOpen && record.acknowledged !== undefined;
  const isIndexed = holdsBack || record.announce_until !== undefined;
  const list = incidentsListOf(account_id, isStillOpen ? 'open' : 'ended');
  const name = incidentNameOf(incidentPartsOf(record));
  const names = Object.keys(incidentRecord.shape) as (keyof IncidentRecord)[];
  return {
    key: incidentKey(account_id, incident_id),
    set: {
      kind: 'incident',
      ...(record as unknown as Record<string, Attribute | undefined>),
      // The name in the key says what fails in which project, without a read of the item.
      ...listed(list, `${isStillOpen ? began_at : ended_at} ${name}`),
      expires_at: Math.ceil((nowMs + INCIDENT_KEPT_MS) / 1_000),
      ...(isIndexed && { work: ACKNOWLEDGED_WORK }),
    },
    remove: [
      ...names.filter((field) => record[field] === undefined),
      ...(isIndexed ? [] : [WORK_INDEX.partitionKey]),
    ],
    condition:
      revision === 1
        ? { kind: 'absent', name: 'revision' }
        : { kind: 'equals', name: 'revision', value: revision - 1 },
  };
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
      ...listed(alertListOf(channel, notice.severity), order),
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
