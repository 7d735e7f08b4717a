/**
 * Renders the event of a journal entry from what is stored and from nothing else, so that all copies are byte-equal,
 * and puts events and alerts into the form of CloudEvents 1.0 for systems that read no other.
 */

import type * as z from 'zod';
import type { JournalEntry, Unchangeable } from '../records/journal-entries.ts';
import type { JournalRecord } from '../records/journal-record.ts';
import { isTerminal } from '../records/operation-record.ts';
import type { eventCatalog } from './catalog.ts';
import { DETAIL_TYPES, EVENT_SOURCE } from './event-names.ts';

export interface BusEvent {
  readonly source: string;
  readonly detailType: string;
  /** The detail is JSON. */
  readonly detail: string;
  /** The time is in ISO 8601. EventBridge keeps whole seconds of it. */
  readonly time: string;
  /** A replay marks its events here (`REPLAY_RESOURCE`). It is absent for every other event. */
  readonly resources?: readonly string[];
  /** The trace of the caller whose command has led to the event, as W3C Trace Context. */
  readonly traceparent?: string | undefined;
}

type EntryType = JournalEntry['type'];

/** The journal of this kind of record holds entries of the type. */
type RecordOf<Type extends EntryType, R extends JournalRecord = JournalRecord> = R extends unknown
  ? Type extends R['entries'][number]['type']
    ? R
    : never
  : never;

type EntryOf<Type extends EntryType, E extends JournalEntry = JournalEntry> = E extends unknown
  ? Type extends E['type']
    ? E
    : never
  : never;

/** The catalog documents these fields of the event. */
type DetailOf<Type extends EntryType> = Unchangeable<
  z.input<Extract<(typeof eventCatalog)[number], { detailType: (typeof DETAIL_TYPES)[Type] }>['detail']>
>;

/** Each event takes its fields from the record and from the entry. */
const details = {
  state_changed: (record, entry) => ({
    ...operationFields(record),
    ...entry,
    terminal: isTerminal(entry.status),
    operation_created_at: record.created_at,
  }),
  operation_stalled: (record, entry) => ({
    ...operationFields(record),
    ...entry,
    operation_created_at: record.created_at,
    command: record.command,
  }),
  watch_ended: (record, entry) => ({ ...operationFields(record), ...entry }),
  command_settled: (record, entry) => {
    const { client_id, request_id, call, traceparent } = record;
    const command = { client_id, request_id, ...(traceparent !== undefined && { traceparent }) };
    return { ...projectFields(record), ...entry, command, call };
  },
  project_discovered: (record, entry) => ({ ...projectFields(record), ...entry }),
  project_unreachable: (record, entry) => ({ ...projectFields(record), ...entry }),
  project_transferred: (record, entry) => ({
    ...projectFields(record),
    ...entry,
    to_account_id: record.account_id,
  }),
  usage_crossed: (record, entry) => ({
    ...accountFields(record),
    project_id: record.kind === 'project' ? record.project_id : undefined,
    scope: record.kind,
    ...entry,
  }),
  account_watched: (record, entry) => ({ ...accountFields(record), ...entry }),
  branch_ready: (record, entry) => ({ ...branchFields(record), ...entry }),
  branch_failed: (record, entry) => ({ ...branchFields(record), ...entry }),
  compute_state_changed: (record, entry) => ({
    ...projectFields(record),
    endpoint_id: record.endpoint_id,
    ...entry,
  }),
  account_degraded: (record, entry) => ({ ...accountFields(record), ...entry }),
  account_recovered: (record, entry) => ({ ...accountFields(record), ...entry }),
} satisfies {
  readonly [Type in EntryType]: (record: RecordOf<Type>, entry: EntryOf<Type>) => DetailOf<Type>;
};

/** The catalog documents fields of these names, optional ones included, and no event sends them. */
type NotSent = {
  [Type in EntryType]: Exclude<keyof DetailOf<Type>, keyof ReturnType<(typeof details)[Type]>>;
}[EntryType];

/** This type exists only while there is no such name, so a documented field that is not sent does not compile. */
type Render<_None extends never> = (record: JournalRecord, entry: JournalEntry) => object;

interface Commanded {
  readonly command?: { readonly traceparent?: string | undefined } | undefined;
}

export function renderEvent(record: JournalRecord, entry: JournalEntry): BusEvent {
  // A record holds only entries of its own kind, which the compiler cannot follow through the two unions.
  const detailOf = details[entry.type] as Render<NotSent>;
  const { type: _type, revision: _revision, ...detail } = detailOf(record, entry) as JournalEntry & Commanded;
  const { traceparent } = detail.command ?? {};
  return {
    source: EVENT_SOURCE,
    detailType: DETAIL_TYPES[entry.type],
    detail: JSON.stringify(inOrder(detail)),
    time: entry.observed_at,
    ...(traceparent !== undefined && { traceparent }),
  };
}

function accountFields({ account_id }: JournalRecord) {
  return { schema: 1 as const, account_id };
}

function projectFields(record: Exclude<JournalRecord, { kind: 'account' }>) {
  return { ...accountFields(record), project_id: record.project_id };
}

/** These fields of an operation never change once it is recorded. */
function operationFields(record: RecordOf<'state_changed'>) {
  const { operation_id, action, branch_id, endpoint_id } = record;
  return { ...projectFields(record), operation_id, action, branch_id, endpoint_id };
}

/** These fields of a branch never change once it is recorded. */
function branchFields(record: RecordOf<'branch_ready'>) {
  const { branch_id, command } = record;
  return { ...projectFields(record), branch_id, command };
}

/** Sorts fields by name, so that an entry that was just made and one that was read from the table give the same bytes. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  const sorted: Record<string, unknown> = {};
  for (const name of Object.keys(fields).toSorted()) sorted[name] = inOrder(fields[name]);
  return sorted;
}

/** This is the media type of one such event (CloudEvents 1.0, JSON event format, section 3). */
export const CLOUD_EVENT_MEDIA_TYPE = 'application/cloudevents+json; charset=utf-8';

export interface CloudEvent {
  readonly specversion: '1.0';
  /** Copies have the same `source` and `id`. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject?: string;
  readonly time?: string;
  readonly datacontenttype: 'application/json';
  readonly data: object;
  /** The extension "Sequence" is compared as text, so the number has leading zeros. */
  readonly sequence?: string;
  /** The extension "Partitioning": events of one operation have the same, and the states of one compute. */
  readonly partitionkey?: string;
  /** The extension "Distributed Tracing". */
  readonly traceparent?: string;
}

/** A bridge publishes fewer than ten thousand million states of one operation. */
const SEQUENCE_DIGITS = 10;

/**
 * Returns the CloudEvent of an event as EventBridge delivers it, structured as JSON
 * (https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/spec.md). docs/bindings.md has the mapping.
 */
export function cloudEventOf(event: {
  readonly id: string;
  readonly 'detail-type': string;
  readonly source: string;
  readonly time: string;
  readonly detail: Readonly<Record<string, unknown>>;
}): CloudEvent {
  const { detail, source, time } = event;
  const text = (name: string) => (typeof detail[name] === 'string' ? detail[name] : undefined);
  // The states of a compute are counted by compute, although each names the operation that caused it.
  const compute = event['detail-type'] === 'Compute State Changed' ? text('endpoint_id') : undefined;
  const partitionKey = compute ?? text('operation_id') ?? text('branch_id') ?? text('project_id');
  const { sequence, command } = detail;
  const traceparent = (command as { readonly traceparent?: string } | undefined)?.traceparent;
  return {
    specversion: '1.0',
    id: text('id') ?? event.id,
    source: `${source}/accounts/${text('account_id') ?? ''}`,
    type: `${source}.${event['detail-type'].toLowerCase().replaceAll(' ', '_')}`,
    ...(partitionKey !== undefined && { subject: partitionKey, partitionkey: partitionKey }),
    time,
    datacontenttype: 'application/json',
    data: detail,
    ...(typeof sequence === 'number' && { sequence: String(sequence).padStart(SEQUENCE_DIGITS, '0') }),
    ...(traceparent !== undefined && { traceparent }),
  };
}
