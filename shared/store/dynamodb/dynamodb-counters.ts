/** Implements `TableCounters` over DynamoDB. */

import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  DynamoDBServiceException,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import type { CountedMembers, MemberIncrement, TableCounters, TimeMove } from '../table.ts';

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
