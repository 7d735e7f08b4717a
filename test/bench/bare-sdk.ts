/** Loads the minimum that any poller on AWS loads: the clients of its table and its bus. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';

const documents = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const bus = new EventBridgeClient({});

export const handler = async (): Promise<void> => {
  await documents.send(new GetCommand({ TableName: 't', Key: {} }));
  await documents.send(new UpdateCommand({ TableName: 't', Key: {} }));
  await bus.send(new PutEventsCommand({ Entries: [] }));
};
