/** Builds the notifier from its environment. A batch of the queue and the sweep's schedule come through one entry. */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import * as z from 'zod';
import { createUsualFailures } from '../../shared/alerts/common-cause.ts';
import { createInsightsStore, rememberUsualDurations } from '../../shared/insights/day-insights.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { CALLS_END } from '../../shared/runtime/concurrency.ts';
import { AppError } from '../../shared/runtime/errors.ts';
import { createPowertoolsTelemetry } from '../../shared/runtime/powertools-telemetry.ts';
import { readConfig } from '../../shared/runtime/read-config.ts';
import { createSecretKeySource } from '../../shared/runtime/secret-key-source.ts';
import type { Telemetry } from '../../shared/runtime/telemetry.ts';
import { createDynamoDbIndexes, createDynamoDbTable } from '../../shared/store/dynamodb-table.ts';
import { createProjectNames } from '../../shared/store/project-names.ts';
import type { Table, TableIndexes } from '../../shared/store/table.ts';
import { createUnreadableNotes, type NoteUnreadable } from '../../shared/store/unreadable.ts';
import { notifierAccess } from './access.ts';
import { createAlertStore, type NotifierDeps } from './alert-store.ts';
import type { Channel, ChannelParts } from './channels/channel.ts';
import { CHANNEL_KINDS } from './channels/channels.ts';
import { createSnsPublisher } from './channels/email.ts';
import { alertPolicySchema, type NotifierEnvironment } from './environment.ts';
import { type BatchResponse, notify, rememberNames } from './notify.ts';
import { sweep } from './sweep.ts';

export type NotifierHandler = (event: unknown) => Promise<BatchResponse>;

const queueBatch = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

/** The notifier reaches the table, the channels and the time only through these. */
export interface NotifierPorts extends Omit<ChannelParts, 'links'> {
  readonly table: Table;
  readonly indexes: TableIndexes;
  readonly telemetry: Telemetry;
}

/** Returns the handler on the services of AWS. */
export function createNotifierHandler(environment: NotifierEnvironment, clock: Clock): NotifierHandler {
  const telemetry = createPowertoolsTelemetry({
    functionName: environment.POWERTOOLS_SERVICE_NAME,
    bridgeName: environment.TABLE_NAME,
  });
  const dynamoDb = new DynamoDBClient({});
  const secretsManager = new SecretsManagerClient(CALLS_END);
  const sns = new SNSClient({});
  const handle = createNotifier(environment, {
    table: createDynamoDbTable(dynamoDb, environment.TABLE_NAME, notifierAccess),
    indexes: createDynamoDbIndexes(dynamoDb, environment.TABLE_NAME),
    secretOf: (secretId) => createSecretKeySource(secretsManager, secretId, clock, telemetry),
    publisherOf: (topicArn) => createSnsPublisher(sns, topicArn),
    fetch,
    clock,
    telemetry,
  });
  return async (event) => {
    try {
      return await handle(event);
    } finally {
      telemetry.flush();
    }
  };
}

/** Returns the handler on these ports. It remembers between two invocations what a process of Lambda does. */
export function createNotifier(environment: NotifierEnvironment, ports: NotifierPorts): NotifierHandler {
  const { table, indexes, clock, telemetry } = ports;
  const noteUnreadable = createUnreadableNotes(telemetry);
  const policy = readConfig(alertPolicySchema, parseJson(environment.ALERT_POLICY), 'ALERT_POLICY');
  const deps: NotifierDeps = {
    store: createAlertStore(table, indexes, { clock, telemetry }),
    policy,
    clock,
    telemetry,
    usualDurationOf: usualDurationsOf(table, clock, noteUnreadable),
    usualFailuresOf: createUsualFailures(table, clock, noteUnreadable),
    projectNameOf: rememberNames(
      (accountId, projectId) => createProjectNames(table, accountId, noteUnreadable).nameOf(projectId),
      clock,
    ),
    channels: channelsOf(environment, ports, policy.time_zone),
  };
  return async (event) => {
    const batch = queueBatch.safeParse(event);
    if (batch.success) return notify(deps, batch.data.Records);
    await sweep(deps);
    return { batchItemFailures: [] };
  };
}

/** Remembers for each account what is usual in it. There are as many accounts as the bridge watches. */
function usualDurationsOf(
  table: Table,
  clock: Clock,
  noteUnreadable: NoteUnreadable,
): NotifierDeps['usualDurationOf'] {
  const accounts = new Map<string, ReturnType<typeof rememberUsualDurations>>();
  return (accountId, projectId, action) => {
    const store = createInsightsStore(table, accountId, noteUnreadable);
    const known = accounts.get(accountId) ?? rememberUsualDurations(store, clock);
    accounts.set(accountId, known);
    return known(projectId, action);
  };
}

/** Returns the channels that the deployment has set up. */
function channelsOf(
  environment: NotifierEnvironment,
  ports: NotifierPorts,
  timeZone: string,
): readonly Channel[] {
  const { CONSOLE_BASE_URL: consoleBaseUrl, RUNBOOK_URL: runbookUrl } = environment;
  const links = { consoleBaseUrl, runbookUrl, timeZone };
  return CHANNEL_KINDS.flatMap((kind) => {
    const sender = kind.create(environment, { ...ports, links });
    return sender === undefined ? [] : [{ name: kind.name, ...sender }];
  });
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
