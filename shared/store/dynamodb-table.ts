/** Implements the table, its indexes and its partitions over DynamoDB. */

import { ConditionalCheckFailedException, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  QueryCommand,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { AppError } from '../runtime/errors.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import {
  type Condition,
  type IndexPage,
  type IndexPosition,
  type IndexQuery,
  type Item,
  type Key,
  KeysUnreadError,
  keyText,
  type Table,
  type TableIndexes,
  type TablePartitions,
  type Update,
  WORK_INDEX,
  type WorkPage,
  type WorkPageQuery,
  type WorkQuery,
} from './table.ts';
import { type Access, BATCH_KEYS_MAX, readableAttributes } from './table-access.ts';

/** It is empty when all attributes are asked for. */
interface Projection {
  readonly ProjectionExpression?: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
}

const NONE: readonly string[] = [];

/**
 * Returns a function that asks for the attributes that may be read in the partitions of these keys. DynamoDB itself
 * refuses any other partition.
 */
function createProjections(access: Pick<Access, 'reads'> | undefined): (keys: readonly Key[]) => Projection {
  /** A partition has dozens of attributes, and is asked for again and again. */
  const known = new Map<readonly string[], Projection>();
  const projectionFor = (attributes: readonly string[]) => {
    const projection = known.get(attributes) ?? createProjection(attributes);
    known.set(attributes, projection);
    return projection;
  };

  return (keys) => {
    if (access === undefined) return {};
    const lists = new Set(keys.map(({ pk }) => readableAttributes(access, pk) ?? NONE));
    const [first = NONE] = lists;
    return lists.size === 1 ? projectionFor(first) : createProjection([...new Set([...lists].flat())]);
  };
}

/**
 * No reserved word has an underscore (Amazon DynamoDB Developer Guide, "Reserved words in DynamoDB"), so a name that has
 * one stands for itself. Every other name has a placeholder. A read of a partition with 70 attributes takes a
 * fifth less of the processor than with a placeholder for each.
 */
function createProjection(attributes: readonly string[]): Projection {
  if (attributes.length === 0) return {};
  const shown = attributes.map((name, index) => ({ name, as: name.includes('_') ? name : `#a${index}` }));
  const replaced = shown.filter(({ name, as }) => as !== name);
  return {
    ProjectionExpression: shown.map(({ as }) => as).join(', '),
    ...(replaced.length > 0 && {
      ExpressionAttributeNames: Object.fromEntries(replaced.map(({ name, as }) => [as, name])),
    }),
  };
}

/**
 * BatchGetItem answers 200 and leaves the keys of a throttled partition unread, so the SDK does not back off. With the pauses
 * between them, this many attempts take a second and a half at the most: less than a poll has for its end.
 */
export const BATCH_ATTEMPTS_MAX = 6;

/** The first pause is a random part of this time. It doubles with each attempt. */
const UNREAD_PAUSE_MS = 50;

/** The pauses between attempts come from these. */
export interface Pacing {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * `queryWork` asks for at most this many keys in one page of the index. A key has about 120 bytes, so the page stays
 * below the 1 MB at which DynamoDB would end it (DynamoDB API Reference, Query).
 */
export const WORK_PAGE_KEYS = 5_000;

/**
 * `queryWork` reads at most this many pages, because it holds all keys in memory: 100,000 keys take 20 MB of 256.
 * Beyond this bound it rejects with `work_index_too_large`; an index that can grow that far must be read page by
 * page.
 */
export const WORK_PAGES_MAX = 20;

/**
 * `access` names the attributes that are asked for, since the function's role allows no others. When it is undefined,
 * all are asked for.
 */
export function createDynamoDbTable(
  client: DynamoDBClient,
  tableName: string,
  access?: Pick<Access, 'reads'>,
  pacing: Pacing = { clock: systemClock, random: systemRandom },
): Table {
  const documents = DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } });
  const projectionOf = createProjections(access);
  return {
    async get(key) {
      const answer = await documents.send(
        new GetCommand({
          TableName: tableName,
          Key: key,
          ConsistentRead: true,
          ...projectionOf([key]),
        }),
      );
      return answer.Item as Item | undefined;
    },
    async getMany(keys) {
      // DynamoDB refuses a call that has the same key twice.
      const distinct = [...new Map(keys.map((key) => [keyText(key), key])).values()];
      const batches = Array.from({ length: Math.ceil(distinct.length / BATCH_KEYS_MAX) }, (_, index) =>
        distinct.slice(index * BATCH_KEYS_MAX, (index + 1) * BATCH_KEYS_MAX),
      );
      const asked = batches.map((batch) =>
        getBatch(documents, { tableName, projectionOf, ...pacing }, batch),
      );
      const answers = await Promise.all(asked);
      const items = answers.flatMap((answer) => answer.items);
      const unread = answers.flatMap((answer) => answer.unread);
      if (unread.length > 0) throw new KeysUnreadError(tableName, items, unread);
      return items;
    },
    async update(update) {
      try {
        await documents.send(new UpdateCommand(compileUpdate(tableName, update)));
        return 'applied';
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return 'refused';
        throw error;
      }
    },
    queryWork: (query) => queryWork(documents, tableName, query),
    queryWorkPage: (query) => queryWorkPage(documents, tableName, query),
  };
}

async function getBatch(
  documents: DynamoDBDocumentClient,
  {
    tableName,
    projectionOf,
    clock,
    random,
  }: Pacing & { readonly tableName: string; readonly projectionOf: (keys: readonly Key[]) => Projection },
  keys: readonly Key[],
): Promise<{ readonly items: readonly Item[]; readonly unread: readonly Key[] }> {
  const items: Item[] = [];
  // A key from an index page has further fields, which BatchGetItem would refuse.
  let left: Record<string, unknown>[] = keys.map(({ pk, sk }) => ({ pk, sk }));
  for (let attempt = 0; left.length > 0 && attempt < BATCH_ATTEMPTS_MAX; attempt++) {
    if (attempt > 0) await clock.sleep(random.next() * UNREAD_PAUSE_MS * 2 ** (attempt - 1));
    const RequestItems = { [tableName]: { Keys: left, ConsistentRead: true, ...projectionOf(keys) } };
    const answer = await documents.send(new BatchGetCommand({ RequestItems }));
    items.push(...((answer.Responses?.[tableName] ?? []) as Item[]));
    left = answer.UnprocessedKeys?.[tableName]?.Keys ?? [];
  }
  return { items, unread: left as unknown as readonly Key[] };
}

async function queryWork(
  documents: DynamoDBDocumentClient,
  tableName: string,
  query: WorkQuery,
): Promise<readonly Key[]> {
  const keys: Key[] = [];
  let start: IndexPosition | undefined;
  for (let pageCount = 0; pageCount < WORK_PAGES_MAX; pageCount++) {
    const page = await queryWorkPage(documents, tableName, { ...query, limit: WORK_PAGE_KEYS, start });
    keys.push(...page.keys);
    start = page.next;
    if (start === undefined) return keys;
  }
  throw new AppError(
    'work_index_too_large',
    `The work index holds more than ${keys.length} keys of ${query.work}; read it page by page`,
  );
}

async function queryWorkPage(
  documents: DynamoDBDocumentClient,
  tableName: string,
  { work, pk, limit, start }: WorkPageQuery,
): Promise<WorkPage> {
  const order = pk === undefined ? undefined : { is: '=' as const, value: pk };
  const query = { index: WORK_INDEX, partition: work, order, limit, start };
  const { keys, next } = await queryIndex(documents, tableName, query);
  return { keys: keys.map((key) => ({ pk: key.pk, sk: key.sk })), next };
}

interface KeysQuery extends Omit<IndexQuery, 'after'> {
  /** The sort key of the index has to be this, or greater than this. */
  readonly order: { readonly is: '=' | '>'; readonly value: string } | undefined;
}

async function queryIndex(
  documents: DynamoDBDocumentClient,
  tableName: string,
  { index, partition, order, limit, start, newestFirst = false }: KeysQuery,
): Promise<IndexPage> {
  const answer = await documents.send(
    new QueryCommand({
      TableName: tableName,
      IndexName: index.name,
      KeyConditionExpression: `#partition = :partition${order === undefined ? '' : ` AND #order ${order.is} :order`}`,
      ExpressionAttributeNames: {
        '#partition': index.partitionKey,
        ...(order && { '#order': index.sortKey }),
      },
      ExpressionAttributeValues: { ':partition': partition, ...(order && { ':order': order.value }) },
      ScanIndexForward: !newestFirst,
      Limit: limit,
      ...(start && { ExclusiveStartKey: start }),
    }),
  );
  const keys = (answer.Items ?? []).map((item) => ({
    pk: String(item['pk']),
    sk: String(item['sk']),
    sortKey: String(item[index.sortKey]),
  }));
  return { keys, next: answer.LastEvaluatedKey as IndexPosition | undefined };
}

/** It is exported for the test that pins the expressions. */
export function compileUpdate(
  tableName: string,
  { key, set, remove = [], condition }: Update,
): UpdateCommandInput {
  const names = new Map<string, string>();
  const values: Record<string, unknown> = {};
  const nameOf = (attribute: string) => {
    const known = names.get(attribute) ?? `#n${names.size}`;
    names.set(attribute, known);
    return known;
  };
  const placeholderOf = (value: unknown) => {
    const placeholder = `:v${Object.keys(values).length}`;
    values[placeholder] = value;
    return placeholder;
  };

  const sets = Object.entries(set)
    .filter(([, value]) => value !== undefined)
    .map(([attribute, value]) => `${nameOf(attribute)} = ${placeholderOf(value)}`);
  const clauses = [
    ...(sets.length > 0 ? [`SET ${sets.join(', ')}`] : []),
    ...(remove.length > 0 ? [`REMOVE ${remove.map(nameOf).join(', ')}`] : []),
  ];
  const conditionText = condition && compileCondition(condition, nameOf, placeholderOf);
  return {
    TableName: tableName,
    Key: { ...key },
    UpdateExpression: clauses.join(' '),
    ...(conditionText !== undefined && { ConditionExpression: conditionText }),
    ExpressionAttributeNames: Object.fromEntries([...names].map(([attribute, name]) => [name, attribute])),
    ...(Object.keys(values).length > 0 && { ExpressionAttributeValues: values }),
  };
}

function compileCondition(
  condition: Condition,
  nameOf: (attribute: string) => string,
  placeholderOf: (value: unknown) => string,
): string {
  switch (condition.kind) {
    case 'absent':
      return `attribute_not_exists(${nameOf(condition.name)})`;
    case 'equals':
      return `${nameOf(condition.name)} = ${placeholderOf(condition.value)}`;
    case 'less':
      return `${nameOf(condition.name)} < ${placeholderOf(condition.value)}`;
    case 'any':
    case 'all': {
      const parts = condition.of.map((part) => compileCondition(part, nameOf, placeholderOf));
      // DynamoDB refuses parentheses around parentheses.
      if (parts.length === 1) return parts.join('');
      return parts.map((part) => `(${part})`).join(condition.kind === 'any' ? ' OR ' : ' AND ');
    }
  }
}

export function createDynamoDbIndexes(client: DynamoDBClient, tableName: string): TableIndexes {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    query: ({ after, ...query }) => {
      const order = after === undefined ? undefined : { is: '>' as const, value: after };
      return queryIndex(documents, tableName, { ...query, order });
    },
  };
}

/** `access` names the attributes that are asked for, because the function's role allows no others. */
export function createDynamoDbPartitions(
  client: DynamoDBClient,
  tableName: string,
  access: Pick<Access, 'reads'>,
): TablePartitions {
  const documents = DynamoDBDocumentClient.from(client);
  const projectionOf = createProjections(access);
  return {
    async readPartition({ partition, start, mayLag }) {
      const answer = await documents.send(
        new QueryCommand({
          TableName: tableName,
          ConsistentRead: mayLag !== true,
          KeyConditionExpression: 'pk = :partition',
          Select: 'SPECIFIC_ATTRIBUTES',
          ...projectionOf([{ pk: partition, sk: '' }]),
          ExpressionAttributeValues: { ':partition': partition },
          ...(start && { ExclusiveStartKey: start }),
        }),
      );
      return {
        items: (answer.Items ?? []) as Item[],
        next: answer.LastEvaluatedKey as IndexPosition | undefined,
      };
    },
  };
}
