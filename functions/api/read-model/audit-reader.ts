/**
 * Reads the audit as people see it, newest first and in pages. Records that cannot be read are skipped and counted.
 */

import * as z from 'zod';
import { auditKey, auditListOf } from '../../../shared/store/keys.ts';
import {
  type IndexPosition,
  type Item,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import { decodeCursor, encodeCursor, type Page, type PageRequest, positionSchema } from './list-page.ts';

const auditItem = z.object({
  kind: z.literal('audit'),
  generation: z.number().optional().describe('The life of the account; absent in the first.'),
  by_account_id: z.string().optional().describe('The caller belongs to this other account.'),
  request_id: z.string(),
  client_id: z.string(),
  /** The address of a person who signed in at the company's provider. */
  email: z.string().optional(),
  call: z.string(),
  project_id: z.string().optional(),
  resource: z.record(z.string(), z.string()),
  received_at: z.string(),
  outcome: z.enum(['done', 'refused', 'unknown']).optional(),
  status: z.number().optional(),
  problem: z.string().optional(),
  duration_ms: z.number().optional(),
  operation_ids: z.array(z.string()).optional(),
});

export const auditRecord = auditItem.omit({ kind: true });

/**
 * A record without an outcome means that the request is under way, or that the process ended before the request did.
 */
export type AuditRecord = z.output<typeof auditRecord>;

export const AUDIT_ATTRIBUTES = Object.keys(auditItem.shape);

interface AuditRequest extends PageRequest {
  /** The page has only records that were received at this time (ISO 8601) or later. */
  readonly from?: string | undefined;
  /** The page has only records that were received before this time (ISO 8601). */
  readonly until?: string | undefined;
  readonly fits: (record: AuditRecord) => boolean;
}

export interface AuditPage extends Page<AuditRecord> {
  /** The page passed over this many records because they cannot be read. */
  readonly unreadable: number;
}

/** Throws `AppError` `cursor_invalid`. A page may be short or empty and still have a next one. */
export type AuditReader = (request: AuditRequest) => Promise<AuditPage>;

/** One page makes at most this many queries, so that a filter that matches nothing does not read 400 days. */
export const AUDIT_QUERIES_MAX = 5;

/** DynamoDB reads at most this many items in one BatchGetItem. */
export const RECORDS_PER_QUERY = 100;

export function createAuditReader(table: Table, indexes: TableIndexes, accountId: string): AuditReader {
  const partition = auditListOf(accountId);
  const position = positionSchema(LIST_INDEX.partitionKey, partition);

  const readRows = async (after: string | undefined, start: IndexPosition | undefined) => {
    const query = { index: LIST_INDEX, partition, newestFirst: true, limit: RECORDS_PER_QUERY, after, start };
    const { keys, next } = await indexes.query(query);
    const items = new Map((await table.getMany(keys)).map((item) => [item.pk, item]));
    return { rows: keys.map((key) => ({ key, record: recordOf(items.get(key.pk)) })), next };
  };

  return async (request) => {
    const { limit, cursor, from, until, fits } = request;
    let start = cursor ? decodeCursor(position, cursor) : until && positionBefore(accountId, until);
    const items: AuditRecord[] = [];
    let unreadable = 0;
    for (let count = 0; count < AUDIT_QUERIES_MAX; count++) {
      const { rows, next } = await readRows(from, start || undefined);
      for (const { key, record } of rows) {
        start = positionOf(partition, key);
        if (record === 'unreadable') unreadable += 1;
        else if (record !== undefined && fits(record)) items.push(record);
        if (items.length === limit) return { items, next: encodeCursor(start), unreadable };
      }
      if (next === undefined) return { items, next: undefined, unreadable };
      start = next;
    }
    return { items, next: start ? encodeCursor(start) : undefined, unreadable };
  };
}

interface AuditKey {
  readonly pk: string;
  readonly sk: string;
  readonly sortKey: string;
}

/** Returns the position of a record in the index. The next page begins behind it. */
function positionOf(partition: string, { pk, sk, sortKey }: AuditKey): IndexPosition {
  return { pk, sk, [LIST_INDEX.partitionKey]: partition, [LIST_INDEX.sortKey]: sortKey };
}

/** Returns a position that no record has. A list from there begins with what was received before this time. */
function positionBefore(accountId: string, until: string): IndexPosition {
  return positionOf(auditListOf(accountId), { ...auditKey(accountId, ''), sortKey: until });
}

/** Returns undefined when the index still shows a record that the table has forgotten. */
function recordOf(item: Item | undefined): AuditRecord | 'unreadable' | undefined {
  if (item === undefined) return undefined;
  const parsed = auditItem.safeParse(item);
  if (!parsed.success) return 'unreadable';
  const { kind: _kind, ...record } = parsed.data;
  return record;
}
