/** The audit as people read it: newest first, in pages, with what cannot be read skipped and counted. */

import * as z from 'zod';
import { auditKey, auditListOf } from '../../../shared/store/keys.ts';
import {
  type IndexPosition,
  type Item,
  LIST_INDEX,
  type Table,
  type TableIndexes,
} from '../../../shared/store/table.ts';
import { decodeCursor, encodeCursor, type Page, positionSchema } from './page-cursor.ts';

const auditItem = z.object({
  kind: z.literal('audit'),
  request_id: z.string(),
  client_id: z.string(),
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

/** Without an outcome the process ended before the request did, or the request is under way. */
export type AuditRecord = Omit<z.output<typeof auditItem>, 'kind'>;

export const AUDIT_ATTRIBUTES = Object.keys(auditItem.shape);

export interface AuditRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** ISO 8601: records that were received then or later. */
  readonly from?: string | undefined;
  /** ISO 8601: records that were received before. */
  readonly until?: string | undefined;
  readonly fits: (record: AuditRecord) => boolean;
}

export interface AuditPage extends Page<AuditRecord> {
  /** Records in the stretch of this page that cannot be read. */
  readonly unreadable: number;
}

/** Of one page: a filter that fits nothing must not read 400 days. */
export const AUDIT_QUERIES_MAX = 5;

/** Of one query, for as many are read in one call. */
export const RECORDS_PER_QUERY = 100;

export function createAuditReader(table: Table, indexes: TableIndexes, accountId: string) {
  const partition = auditListOf(accountId);
  const position = positionSchema(LIST_INDEX.partitionKey, partition);

  const readPage = async (request: AuditRequest, start: IndexPosition | undefined) => {
    const limit = RECORDS_PER_QUERY;
    const query = { index: LIST_INDEX, partition, newestFirst: true, limit, after: request.from, start };
    const { keys, next } = await indexes.query(query);
    const items = new Map((await table.getMany(keys)).map((item) => [item.pk, item]));
    return { rows: keys.map((key) => ({ key, record: recordOf(items.get(key.pk)) })), next };
  };

  /** Of a record as the index knows it: the next page begins behind it. */
  const positionOf = ({ pk, sk, sortKey }: { pk: string; sk: string; sortKey: string }): IndexPosition => ({
    pk,
    sk,
    [LIST_INDEX.partitionKey]: partition,
    [LIST_INDEX.sortKey]: sortKey,
  });

  return async function listAudit(request: AuditRequest): Promise<AuditPage> {
    const { limit, cursor, until, fits } = request;
    // A position that no record has: the list begins with what was received before it.
    const first = until && positionOf({ ...auditKey(accountId, ''), sortKey: until });
    let start: IndexPosition | undefined = cursor ? decodeCursor(position, cursor) : first || undefined;
    const items: AuditRecord[] = [];
    let unreadable = 0;
    for (let count = 0; count < AUDIT_QUERIES_MAX; count++) {
      const { rows, next } = await readPage(request, start);
      for (const { key, record } of rows) {
        start = positionOf(key);
        if (record === 'unreadable') unreadable += 1;
        else if (record !== undefined && fits(record)) items.push(record);
        if (items.length === limit) return { items, next: encodeCursor(start), unreadable };
      }
      if (next === undefined) return { items, next: undefined, unreadable };
      start = next;
    }
    return { items, next: start && encodeCursor(start), unreadable };
  };
}

/** Undefined: the index still shows what the table has forgotten. */
function recordOf(item: Item | undefined): AuditRecord | 'unreadable' | undefined {
  if (item === undefined) return undefined;
  const parsed = auditItem.safeParse(item);
  if (!parsed.success) return 'unreadable';
  const { kind: _kind, ...record } = parsed.data;
  return record;
}
