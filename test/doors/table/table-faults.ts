/**
 * Makes the local DynamoDB answer as the real one may and dynalite 4.0.0 never does: with keys that it left unread, and with what was true
 * before the last write.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import databaseOperations, { type StoredItem } from 'dynalite/db/index.js';
import type { LocalDynamoDb } from '../../../infra/local/aws/dynamodb.ts';
import { answer, callOf, readBody } from '../../../infra/local/aws/protocol.ts';

/** Returns true to hand this key of a BatchGetItem back as unprocessed. */
type LeavesUnread = (key: StoredItem) => boolean;

/** Returns the item as it was before its last write: null when it did not exist, and undefined when nothing was written. */
type ItemBefore = (tableName: string, item: StoredItem) => StoredItem | null | undefined;

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

const READS: ReadonlySet<string> = new Set(['GetItem', 'BatchGetItem', 'Query']);

/** Returns the same tables with these faults. A read that does not ask for consistency shows each item as it was before its last write. */
export function withFaults(tables: LocalDynamoDb, leavesUnread: LeavesUnread): LocalDynamoDb {
  const before = rememberWrites(tables.store);
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const { operation } = callOf(request);
    if (!READS.has(operation)) return tables.handle(request, response);
    handleRead({ tables, leavesUnread, before }, operation, request, response).catch(() =>
      response.destroy(),
    );
  };
  return { ...tables, handle };
}

interface Faulty {
  readonly tables: LocalDynamoDb;
  readonly leavesUnread: LeavesUnread;
  readonly before: ItemBefore;
}

/** Hands the read to the tables, and changes its answer. */
async function handleRead(
  { tables, leavesUnread, before }: Faulty,
  operation: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = (await readBody(request)) as ReadBody;
  if (operation !== 'BatchGetItem') {
    if (body.ConsistentRead !== true)
      changeAnswer(response, (given) => lateAnswer(given, body.TableName, before));
    return tables.handle(replayed(request, body), response);
  }
  const split = Object.entries(body.RequestItems).map(([name, asked]) => {
    const unread = asked.Keys.filter(leavesUnread);
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
        body.RequestItems[name]?.ConsistentRead === true ? items : lateItems(items, name, before),
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

/** From now on the items of this store are kept as they were before their last write. */
function rememberWrites(ownStore: object): ItemBefore {
  const kept = new Map<string, StoredItem | null>();
  const { updateIndexes } = databaseOperations;
  databaseOperations.updateIndexes = (store, table, before, after, done) => {
    const item = after ?? before;
    if (store === ownStore && item !== undefined) kept.set(idOf(table.TableName, item), before ?? null);
    updateIndexes(store, table, before, after, done);
  };
  return (tableName, item) => kept.get(idOf(tableName, item));
}

/** The bridge's tables all have these two keys. */
function idOf(tableName: string, { pk, sk }: StoredItem): string {
  return JSON.stringify([tableName, pk, sk]);
}
