/** Builds the notifier from its environment; a batch of the queue and the sweep's schedule come through one entry. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import * as z from 'zod';
import { alertPolicySchema, type NotifierEnvironment } from '../../shared/config/notifier-config.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { createPowertoolsTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
import { readConfig } from '../../shared/runtime/read-config.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import { createDynamoDbIndexes } from '../../shared/store/dynamodb-indexes.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { notifierAccess } from './access.ts';
import { createAlertStore } from './alert-store.ts';
import type { Channel } from './channels/channel.ts';
import { createMailChannel } from './channels/mail-channel.ts';
import { createSlackChannel } from './channels/slack-channel.ts';
import { createSnsPublisher } from './channels/sns-publisher.ts';
import { type BatchResponse, type NotifierDeps, notify } from './notify.ts';
import { sweep } from './sweep.ts';

export type NotifierHandler = (event: unknown) => Promise<BatchResponse>;

const queueBatch = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

export function createNotifierHandler(environment: NotifierEnvironment, clock: Clock): NotifierHandler {
  const telemetry = createPowertoolsTelemetry(environment.POWERTOOLS_SERVICE_NAME, 'all');
  const dynamoDb = new DynamoDBClient({});
  const deps: NotifierDeps = {
    store: createAlertStore(
      createDynamoDbTable(dynamoDb, environment.TABLE_NAME, notifierAccess),
      createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME),
      { clock, telemetry },
    ),
    policy: readConfig(alertPolicySchema, parseJson(environment.ALERT_POLICY), 'ALERT_POLICY'),
    clock,
    telemetry,
    channels: channelsOf(environment, clock),
  };
  return async (event) => {
    const batch = queueBatch.safeParse(event);
    try {
      if (batch.success) return await notify(deps, batch.data.Records);
      await sweep(deps);
      return { batchItemFailures: [] };
    } finally {
      telemetry.flush();
    }
  };
}

/** Those that the deployment has configured. */
function channelsOf(environment: NotifierEnvironment, clock: Clock): readonly Channel[] {
  const { SLACK_WEBHOOK_SECRET_ID, ALERT_TOPIC_ARN } = environment;
  const links = { consoleBaseUrl: environment.CONSOLE_BASE_URL, runbookUrl: environment.RUNBOOK_URL };
  const slack =
    SLACK_WEBHOOK_SECRET_ID &&
    createSlackChannel({
      credentials: createSecretKeySource(new SecretsManagerClient({}), SLACK_WEBHOOK_SECRET_ID, clock),
      webhookOrigin: environment.SLACK_WEBHOOK_ORIGIN,
      links,
    });
  const mail =
    ALERT_TOPIC_ARN && createMailChannel(createSnsPublisher(new SNSClient({}), ALERT_TOPIC_ARN), links);
  return [slack, mail].flatMap((channel) => (channel ? [channel] : []));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError(
      'config_invalid',
      'ALERT_POLICY is not JSON; it takes the alert policy as one JSON object',
    );
  }
}
