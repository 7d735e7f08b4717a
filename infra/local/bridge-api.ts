/** Opens the API of a local run with the environment that its function gets, and issues a development token. */

import type * as z from 'zod';
import { CHANNEL_NAMES } from '../../functions/notifier/channels/channels.ts';
import type { apiAccounts } from '../../shared/config/api-accounts.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { createDynamoDbIndexes } from '../../shared/store/dynamodb/dynamodb-indexes.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb/dynamodb-table.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { localDynamoDb } from './bridge-aws.ts';
import {
  ACCOUNT_ID,
  COMMANDS_QUEUE_NAME,
  EVENT_BUS_NAME,
  KEY_SECRET_ID,
  PEPPER_SECRET_ID,
  QUEUE_KEY_SECRET_ID,
  TABLE_NAME,
  UPSTREAM_KEYS_PREFIX,
} from './bridge-names.ts';
import type { DataFolder } from './data-folder.ts';
import {
  issueDevelopmentToken,
  type LocalApi,
  revokeDevelopmentTokens,
  startLocalApi,
} from './lambda/local-api.ts';
import { type ChannelSecrets, localSecretIdOf } from './local-channels.ts';
import type { LocalSignIn } from './local-sign-in.ts';
import type { StartOptions } from './start-options.ts';

export interface BridgeApiParts {
  readonly options: StartOptions;
  readonly folder: DataFolder;
  readonly baseUrl: string;
  readonly aws: LocalAws;
  readonly channelSecrets: ChannelSecrets;
  readonly signIn: LocalSignIn | undefined;
}

export function openBridgeApi(parts: BridgeApiParts): Promise<LocalApi> {
  const { options, folder, channelSecrets, signIn } = parts;
  return startLocalApi({
    speed: options.speed,
    originMs: folder.originMs,
    port: options.apiPort,
    publicUrl: options.publicUrl,
    environment: {
      ...commandEnvironment(parts),
      TOKEN_PEPPER_SECRET_ID: PEPPER_SECRET_ID,
      ALERT_CHANNELS: JSON.stringify(CHANNEL_NAMES),
      ...(channelSecrets['SLACK_WEBHOOK_URL'] !== undefined && { SLACK_SECRET_ID: localSecretIdOf('slack') }),
      POWERTOOLS_SERVICE_NAME: 'api',
      ...signIn?.environment,
    },
    onLogLine: (line) => folder.keepLogLine(line),
  });
}

/** The variables that every function has that sends commands. */
export function commandEnvironment({
  aws,
  baseUrl,
}: Pick<BridgeApiParts, 'aws' | 'baseUrl'>): Record<string, string> {
  const account: z.input<typeof apiAccounts>[number] = {
    account_id: ACCOUNT_ID,
    upstream_base_url: baseUrl,
    key_secret_id: KEY_SECRET_ID,
  };
  return {
    ...aws.environment,
    TABLE_NAME,
    EVENT_BUS_NAME,
    // The API and the worker have one instance each here.
    SENDING_INSTANCES_MAX: '2',
    QUEUE_KEY_SECRET_ID,
    ACCOUNTS: JSON.stringify([account]),
    UPSTREAM_HOSTS: JSON.stringify([new URL(baseUrl).host]),
    UPSTREAM_KEYS_PREFIX,
    COMMANDS_QUEUE_URL: `${aws.endpoint}/000000000000/${COMMANDS_QUEUE_NAME}`,
  };
}

/**
 * Issues the development token of this run and revokes those of runs that were killed, so that one is valid at a
 * time.
 */
export async function issueToken(aws: LocalAws, pepper: string, clock: Clock): Promise<string> {
  await endTokens(aws, clock);
  const client = localDynamoDb(aws);
  try {
    const table = createDynamoDbTable(client, TABLE_NAME);
    return await issueDevelopmentToken(table, { accountId: ACCOUNT_ID, pepper, clock });
  } finally {
    client.destroy();
  }
}

/** Revokes the development token when its run ends, because the tables may outlive the run. */
export async function endTokens(aws: LocalAws, clock: Clock): Promise<void> {
  const client = localDynamoDb(aws);
  try {
    const indexes = createDynamoDbIndexes(client, TABLE_NAME);
    const table = createDynamoDbTable(client, TABLE_NAME);
    await revokeDevelopmentTokens(table, { indexes, accountId: ACCOUNT_ID, clock });
  } finally {
    client.destroy();
  }
}
