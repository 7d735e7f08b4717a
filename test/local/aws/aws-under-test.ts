/** Opens a local AWS with the real SDK clients. All of them are closed when the test ends. */

import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { onTestFinished } from 'vitest';
import type { DeliveredEvent, Target } from '../../../infra/local/aws/event-bridge/deliveries.ts';
import { type LocalAws, type LocalAwsOptions, startLocalAws } from '../../../infra/local/aws/local-aws.ts';

export interface AwsUnderTest {
  readonly aws: LocalAws;
  readonly tables: DynamoDBClient;
  readonly events: EventBridgeClient;
  readonly secrets: SecretsManagerClient;
}

export async function openAws(options: LocalAwsOptions = {}): Promise<AwsUnderTest> {
  const aws = await startLocalAws(options);
  const settings = {
    endpoint: aws.endpoint,
    region: 'us-east-1',
    credentials: aws.credentials,
    // Without retries a test sees a fault itself and not what is left of it.
    maxAttempts: 1,
  };
  const clients = {
    tables: new DynamoDBClient(settings),
    events: new EventBridgeClient(settings),
    secrets: new SecretsManagerClient(settings),
  };
  onTestFinished(async () => {
    for (const client of Object.values(clients)) client.destroy();
    await aws.close();
  });
  return { aws, ...clients };
}

/** Waits until the table exists: as on AWS, it can be used only some time after CreateTable has answered. */
export async function createTable(
  client: DynamoDBClient,
  definition: CreateTableCommandInput,
): Promise<void> {
  const { TableName } = definition;
  await client.send(new CreateTableCommand(definition));
  await waitUntilTableExists({ client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 }, { TableName });
}

/** Creates a bus named `bus` and collects what a rule with the given pattern delivers. */
export function collect(aws: LocalAws, pattern: unknown): readonly DeliveredEvent[] {
  const delivered: DeliveredEvent[] = [];
  const target: Target = (event) => void delivered.push(event);
  aws.bus.createBus('bus');
  aws.bus.putRule({ name: 'collect', busName: 'bus', pattern, targets: [target] });
  return delivered;
}

export const anEntry = (fields: object = {}) => ({
  EventBusName: 'bus',
  Source: 'test',
  DetailType: 'Test',
  Detail: '{"status":"failed"}',
  ...fields,
});
