/**
 * Makes the local DynamoDB answer as the real one may and dynalite 4.0.0 never does: with keys that it left unread, and with what was true
 * before the last write.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Databases, StoredItem } from 'dynalite/db/index.js';
import type { LocalAwsCall } from './protocol.ts';
import { answer, readBody } from './protocol.ts';

/** These faults are for tests. Without them nothing of a call is looked at. */
export interface TableFaults {
  /** Returns true to hand this key of a BatchGetItem back as unprocessed. */
  leavesUnread?(key: StoredItem): boolean;
  /** Returns true to show the items of a read that did not ask for consistency as they were before their last write. */
  readsLate?(call: LocalAwsCall): boolean;
}

/** Returns the item as it was before its last write: null when it did not exist, and undefined when nothing was written. */
export type ItemBefore = (tableName: string, item: StoredItem) => StoredItem | null | undefined;

interface ReadRequest {
  readonly Keys: readonly StoredItem[];
  readonly ConsistentRead?: boolean;
}

interface ReadBody extends Omit<ReadRequest, 'Keys'> {
  readonly TableName: string;
  readonly IndexName?: string;
  readonly RequestItems: Readonly<Record<string, ReadRequest>>;
}

interface ReadAnswer {
  readonly Item?: StoredItem;
  readonly Items?: readonly StoredItem[];
  readonly Responses?: Readonly<Record<string, readonly StoredItem[]>>;
  readonly UnprocessedKeys?: Readonly<Record<string, ReadRequest>>;
}

export interface TablesWithMemory {
  handle(request: IncomingMessage, response: ServerResponse): void;
  before: ItemBefore;
}

const READS: ReadonlySet<string> = new Set(['GetItem', 'BatchGetItem', 'Query']);

/** Hands the call to the tables, and changes its answer where a fault strikes. */
export async function handleWithFaults(
  tables: TablesWithMemory,
  faults: TableFaults,
  call: LocalAwsCall,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isFaulty = 'leavesUnread' in faults || 'readsLate' in faults;
  if (!READS.has(call.operation) || !isFaulty) return tables.handle(request, response);
  const body = (await readBody(request)) as ReadBody;
  const isLate = faults.readsLate?.(call) === true;
  if (call.operation !== 'BatchGetItem') {
    const shown = isLate && body.ConsistentRead !== true;
    if (shown) changeAnswer(response, (given) => lateAnswer(given, body.TableName, tables.before));
    return tables.handle(replayed(request, body), response);
  }
  const split = Object.entries(body.RequestItems).map(([name, asked]) => {
    const unread = asked.Keys.filter((key) => faults.leavesUnread?.(key) === true);
    return { name, asked, unread, read: asked.Keys.filter((key) => !unread.includes(key)) };
  });
  const UnprocessedKeys = requestsOf(split, 'unread');
  const RequestItems = requestsOf(split, 'read');
  if (Object.keys(RequestItems).length === 0)
    return answer(response, 200, { Responses: {}, UnprocessedKeys });
  changeAnswer(response, (given) => ({
    ...given,
    Responses: Object.fromEntries(
      Object.entries(given.Responses ?? {}).map(([name, items]) => [
        name,
        isLate && body.RequestItems[name]?.ConsistentRead !== true
          ? lateItems(items, name, tables.before)
          : items,
      ]),
    ),
    UnprocessedKeys: { ...given.UnprocessedKeys, ...UnprocessedKeys },
  }));
  tables.handle(replayed(request, { ...body, RequestItems }), response);
}

interface Split {
  readonly name: string;
  readonly asked: ReadRequest;
  readonly unread: readonly StoredItem[];
  readonly read: readonly StoredItem[];
}

function requestsOf(split: readonly Split[], part: 'unread' | 'read'): Record<string, ReadRequest> {
  const some = split.filter((each) => each[part].length > 0);
  return Object.fromEntries(some.map((each) => [each.name, { ...each.asked, Keys: each[part] }]));
}

function lateAnswer(given: ReadAnswer, tableName: string, before: ItemBefore): ReadAnswer {
  const { Item, Items, ...rest } = given;
  if (Items !== undefined) return { ...rest, Items: lateItems(Items, tableName, before) };
  const [late] = Item === undefined ? [] : lateItems([Item], tableName, before);
  return late === undefined ? rest : { ...rest, Item: late };
}

/** An item shows the attributes that were asked for, so of the one before only those are shown that the item has now. */
function lateItems(
  items: readonly StoredItem[],
  tableName: string,
  before: ItemBefore,
): readonly StoredItem[] {
  return items.flatMap((item) => {
    const late = before(tableName, item);
    if (late === null) return [];
    if (late === undefined) return [item];
    return [Object.fromEntries(Object.entries(late).filter(([name]) => name in item))];
  });
}

/** The body of a request can be read once, so the tables get another one with the same headers. */
function replayed(request: IncomingMessage, body: object): IncomingMessage {
  const { method, url, headers } = request;
  return Object.assign(Readable.from([Buffer.from(JSON.stringify(body))]), {
    method,
    url,
    headers,
  }) as unknown as IncomingMessage;
}

/** The answer gets a checksum and a length of its own. An error stays as it is. */
function changeAnswer(response: ServerResponse, change: (given: ReadAnswer) => ReadAnswer): void {
  const end = response.end.bind(response);
  response.end = ((text: string) => {
    if (response.statusCode !== 200) return end(text);
    response.removeHeader('x-amz-crc32');
    const changed = JSON.stringify(change(JSON.parse(text) as ReadAnswer));
    response.setHeader('Content-Length', Buffer.byteLength(changed));
    return end(changed);
  }) as ServerResponse['end'];
}

/** From now on the items of a store that is watched are kept as they were before their last write. */
export function createWriteMemory(databases: Databases): (store: object) => ItemBefore {
  const watched = new WeakMap<object, Map<string, StoredItem | null>>();
  const { updateIndexes } = databases;
  databases.updateIndexes = (store, table, before, after, done) => {
    const item = after ?? before;
    if (item !== undefined) watched.get(store)?.set(idOf(table.TableName, item), before ?? null);
    updateIndexes(store, table, before, after, done);
  };
  return (store) => {
    const kept = new Map<string, StoredItem | null>();
    watched.set(store, kept);
    return (tableName, item) => kept.get(idOf(tableName, item));
  };
}

/** The bridge's tables all have these two keys. */
function idOf(tableName: string, { pk, sk }: StoredItem): string {
  return JSON.stringify([tableName, pk, sk]);
}
