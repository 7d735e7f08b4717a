/** `TableCounters` over DynamoDB. */

import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  DynamoDBServiceException,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, UpdateCommand, type UpdateCommandInput } from '@aws-sdk/lib-dynamodb';
import type { CountedMembers, MemberIncrement, TableCounters } from '../table.ts';

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
        if (error instanceof ConditionalCheckFailedException || isMissingMap(error)) return 'refused';
        throw error;
      }
    },
  };
}

type Expressions = Omit<UpdateCommandInput, 'TableName' | 'Key'>;

/** The map is made anew, by the first who notices that its window is over. */
function startingOver({ total, members }: MemberIncrement): Expressions {
  return {
    UpdateExpression: 'SET #members = :members, #window = :window ADD #total :total',
    ConditionExpression:
      'attribute_not_exists(#members) OR attribute_not_exists(#window) OR #window < :window',
    ExpressionAttributeNames: {
      '#total': total.name,
      '#members': members.name,
      '#window': members.windowName,
    },
    ExpressionAttributeValues: {
      ':total': total.by,
      ':members': { ...members.by },
      ':window': members.window,
    },
  };
}

/** The window is set only where there is none: so the answer says which one it is. */
function addingTo({ total, members }: MemberIncrement): Expressions {
  const entries = Object.entries(members.by);
  const adds = entries.map((_, place) => `, #members.#m${place} :m${place}`).join('');
  return {
    UpdateExpression: `SET #window = if_not_exists(#window, :window) ADD #total :total${adds}`,
    ExpressionAttributeNames: {
      '#total': total.name,
      '#window': members.windowName,
      ...(entries.length > 0 && { '#members': members.name }),
      ...Object.fromEntries(entries.map(([name], place) => [`#m${place}`, name])),
    },
    ExpressionAttributeValues: {
      ':total': total.by,
      ':window': members.window,
      ...Object.fromEntries(entries.map(([, by], place) => [`:m${place}`, by])),
    },
  };
}

function countedIn(
  attributes: Readonly<Record<string, unknown>>,
  { total, members }: MemberIncrement,
): CountedMembers {
  const counts = Object.entries((attributes[members.name] ?? {}) as Record<string, unknown>);
  return {
    total: Number(attributes[total.name]),
    window: Number(attributes[members.windowName]),
    members: Object.fromEntries(counts.map(([name, count]) => [name, Number(count)])),
  };
}

/** API Reference, "UpdateItem": a path into a map that is not there is not valid. */
function isMissingMap(error: unknown): boolean {
  return (
    error instanceof DynamoDBServiceException &&
    error.name === 'ValidationException' &&
    error.message.includes('document path')
  );
}
