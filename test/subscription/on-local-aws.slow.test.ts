/**
 * Runs the scripts of subscriptions with the real AWS CLI, where it is installed, against the local AWS, publishes
 * events, and looks at what arrives. Only the script's wait for IAM is left out.
 */

import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { operationStateChanged } from '../../shared/events/catalog.ts';
import type { TargetKind } from '../../shared/events/subscription/subscription.ts';
import { type AwsUnderTest, openAws } from '../local/aws/aws-under-test.ts';
import { aSubscription, fileOf } from './subscriptions.ts';

// Each call of the CLI starts a Python of its own, which takes a busy machine some seconds.
vi.setConfig({ testTimeout: 300_000 });

const isInstalled = spawnSync('aws', ['--version']).status === 0;

const { project_id: PROJECT_ID } = operationStateChanged.example;

/** Rejects with what the script printed when it fails. */
async function subscribe(
  { aws }: AwsUnderTest,
  target: TargetKind,
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'local-script-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'sleep'), '#!/bin/sh\n');
  chmodSync(join(folder, 'sleep'), 0o755);
  const subscription = aSubscription({ projects: [PROJECT_ID], replays: 'left_out' });
  writeFileSync(join(folder, 'script.sh'), fileOf(subscription, { target, form: 'cli' }).text);
  const { accessKeyId, secretAccessKey } = aws.credentials;
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env['PATH']}`,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_ENDPOINT_URL: aws.endpoint,
    // In us-east-1, version 1 of the CLI ignores the endpoint for SQS.
    AWS_DEFAULT_REGION: 'local',
    ...environment,
  };
  await promisify(execFile)('sh', [join(folder, 'script.sh')], { env });
}

/** Publishes a failure of the project among events that the subscription must leave out. */
async function publish({ events }: AwsUnderTest): Promise<void> {
  const entry = (fields: object, resources: readonly string[] = []) => ({
    EventBusName: 'the-bus',
    Source: 'operations-bridge',
    DetailType: 'Operation State Changed',
    Detail: JSON.stringify({ ...operationStateChanged.example, ...fields }),
    Resources: [...resources],
  });
  const failed = { status: 'failed', new_failures: 1 };
  const Entries = [
    entry({ id: 'another-project', ...failed, project_id: 'another-1' }),
    entry({ id: 'no-failure' }),
    entry({ id: 'a-copy', ...failed }, ['operations-bridge:replay']),
    entry({ id: 'a-failure', ...failed }),
  ];
  await events.send(new PutEventsCommand({ Entries }));
}

const idOf = (event: unknown) => (event as { detail: { id: string } }).detail.id;

describe.runIf(isInstalled)('the script, run by the AWS CLI against the local AWS,', () => {
  test('subscribes a queue, which gets the failures of the project and nothing else', async () => {
    const local = await openAws();
    local.aws.bus.createBus('the-bus');
    await subscribe(local, 'sqs');
    await publish(local);

    const queues = new SQSClient({
      endpoint: local.aws.endpoint,
      region: 'us-east-1',
      credentials: local.aws.credentials,
    });
    const receive = { QueueUrl: 'my-Rule2', MaxNumberOfMessages: 10, WaitTimeSeconds: 20 };
    const { Messages = [] } = await queues.send(new ReceiveMessageCommand(receive));
    queues.destroy();

    expect(Messages.map(({ Body = '' }) => idOf(JSON.parse(Body)))).toEqual(['a-failure']);
  });
});

test.skipIf(isInstalled)('not checked: the AWS CLI is not installed', () => {});
