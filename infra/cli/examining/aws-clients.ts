/** Opens the clients of AWS that an examination needs, for AWS itself or for the local AWS of a run. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import type { LocalRun } from '../connection/local-run.ts';
import type { AwsClients } from './examine-aws.ts';
import type { DeploymentClients } from './examine-deployment.ts';

/** The local AWS checks only the id of the access key. */
export function openAwsClients(run: LocalRun | undefined): AwsClients & DeploymentClients & Disposable {
  const settings =
    run === undefined
      ? {}
      : {
          endpoint: run.aws_endpoint,
          region: 'us-east-1',
          credentials: { accessKeyId: run.access_key_id, secretAccessKey: 'unused' },
        };
  const dynamoDb = new DynamoDBClient(settings);
  const eventBridge = new EventBridgeClient(settings);
  const secrets = new SecretsManagerClient(settings);
  const sns = new SNSClient(settings);
  const lambda = new LambdaClient(settings);
  const scheduler = new SchedulerClient(settings);
  return {
    dynamoDb,
    eventBridge,
    secrets,
    sns,
    lambda,
    scheduler,
    [Symbol.dispose]() {
      for (const client of [dynamoDb, eventBridge, secrets, sns, lambda, scheduler]) client.destroy();
    },
  };
}
