/** Implements the counters, indexes and partitions of the table over DynamoDB. */

import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  DynamoDBServiceException,
} from '@aws-sdk/client-dynamodb';
import {
  DynamoDBDocumentClient,
  QueryCommand,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import type {
  CountedMembers,
  IndexPosition,
  IndexQuery,
  Item,
  MemberIncrement,
  TableCounters,
  TableIndexes,
  TablePartitions,
  TimeMove,
} from '../table.ts';
import { type Access, readableAttributes } from '../table-access.ts';

export function createDynamoDbCounters(client: DynamoDBClient, tableName: string): TableCounters {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    async incrementMembers(increment) {
      try {
        const input = increment.startsOver ? startingOver(increment) : addingTo(increment);
        const request = { ...input, TableName: tableName, Key: { ...increment.key } };
        const answer = await documents.send(new UpdateCommand({ ...request, ReturnValues: 'UPDATED_NEW' }));
        return countedIn(answer.Attributes ?? {}, increment);
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return 'refused';
        if (isMissingMap(error)) return 'missing';
        throw error;
      }
    },
  };
}

type Expressions = Omit<UpdateCommandInput, 'TableName' | 'Key'>;

/** The first process that notices that the window of the map is over replaces the map. */
function startingOver({ total, members, time }: MemberIncrement): Expressions {
  const moved = moving(time.move);
  const isOver = 'attribute_not_exists(#members) OR attribute_not_exists(#window) OR #window < :window';
  return {
    UpdateExpression: `SET #members = :members, #window = :window, #time = ${moved.to} ADD #total :total`,
    ConditionExpression: moved.condition === undefined ? isOver : `(${isOver}) AND (${moved.condition})`,
    ExpressionAttributeNames: {
      '#total': total.name,
      '#members': members.name,
      '#window': members.windowName,
      '#time': time.name,
    },
    ExpressionAttributeValues: {
      ':total': total.by,
      ':members': { ...members.by },
      ':window': members.window,
      ...moved.values,
    },
  };
}

/** Window and time are set to the values that they have where they must not change, so that the answer contains them. */
function addingTo({ total, members, time }: MemberIncrement): Expressions {
  const moved = moving(time.move);
  const entries = Object.entries(members.by);
  const adds = entries.map((_, index) => `, #members.#m${index} :m${index}`).join('');
  return {
    UpdateExpression: `SET #window = if_not_exists(#window, :window), #time = ${moved.to} ADD #total :total${adds}`,
    ...(moved.condition !== undefined && { ConditionExpression: moved.condition }),
    ExpressionAttributeNames: {
      '#total': total.name,
      '#window': members.windowName,
      '#time': time.name,
      ...(entries.length > 0 && { '#members': members.name }),
      ...Object.fromEntries(entries.map(([name], index) => [`#m${index}`, name])),
    },
    ExpressionAttributeValues: {
      ':total': total.by,
      ':window': members.window,
      ...Object.fromEntries(entries.map(([, by], index) => [`:m${index}`, by])),
      ...moved.values,
    },
  };
}

interface Moved {
  readonly to: string;
  readonly condition: string | undefined;
  readonly values: Readonly<Record<string, number>>;
}

function moving(move: TimeMove | undefined): Moved {
  if (move === undefined)
    return { to: 'if_not_exists(#time, :never)', condition: undefined, values: { ':never': 0 } };
  if (move.kind === 'onward')
    return {
      to: '#time + :by',
      condition: '#time BETWEEN :earliest AND :latest',
      values: { ':by': move.byMs, ':earliest': move.earliestMs, ':latest': move.latestMs },
    };
  return {
    to: ':to',
    condition: 'attribute_not_exists(#time) OR #time < :before OR #time > :after',
    values: { ':to': move.toMs, ':before': move.beforeMs, ':after': move.afterMs },
  };
}

function countedIn(
  attributes: Readonly<Record<string, unknown>>,
  { total, members, time }: MemberIncrement,
): CountedMembers {
  const counts = Object.entries((attributes[members.name] ?? {}) as Record<string, unknown>);
  return {
    total: Number(attributes[total.name]),
    timeMs: Number(attributes[time.name]),
    window: Number(attributes[members.windowName]),
    members: Object.fromEntries(counts.map(([name, count]) => [name, Number(count)])),
  };
}

/** DynamoDB refuses a path into a map that does not exist as not valid (API Reference, "UpdateItem"). */
function isMissingMap(error: unknown): boolean {
  return (
    error instanceof DynamoDBServiceException &&
    error.name === 'ValidationException' &&
    error.message.includes('document path')
  );
}

export function createDynamoDbIndexes(client: DynamoDBClient, tableName: string): TableIndexes {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    async query(query) {
      const { index, limit, start, newestFirst = false } = query;
      const answer = await documents.send(
        new QueryCommand({
          TableName: tableName,
          IndexName: index.name,
          ...keyCondition(query),
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
    },
  };
}

function keyCondition({ index, partition, after }: IndexQuery) {
  return {
    KeyConditionExpression:
      after === undefined ? '#partition = :partition' : '#partition = :partition AND #order > :after',
    ExpressionAttributeNames: {
      '#partition': index.partitionKey,
      ...(after !== undefined && { '#order': index.sortKey }),
    },
    ExpressionAttributeValues: { ':partition': partition, ...(after !== undefined && { ':after': after }) },
  };
}

/** `access` names the attributes that are asked for, because the function's role allows no others. */
export function createDynamoDbPartitions(
  client: DynamoDBClient,
  tableName: string,
  access: Pick<Access, 'reads'>,
): TablePartitions {
  const documents = DynamoDBDocumentClient.from(client);
  return {
    async readPartition({ partition, start, mayLag }) {
      const names = readableAttributes(access, partition) ?? [];
      const placeholders = new Map(names.map((name, index) => [name, `#a${index}`]));
      const answer = await documents.send(
        new QueryCommand({
          TableName: tableName,
          ConsistentRead: mayLag !== true,
          KeyConditionExpression: `${placeholders.get('pk')} = :partition`,
          Select: 'SPECIFIC_ATTRIBUTES',
          ProjectionExpression: [...placeholders.values()].join(', '),
          ExpressionAttributeNames: Object.fromEntries(
            [...placeholders].map(([name, placeholder]) => [placeholder, name]),
          ),
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
