/** Opens the local AWS as a deployment leaves it: with the table, the bus and the secrets of the bridge. */

import {
  CreateTableCommand,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceNotFoundException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { toError } from '../../shared/runtime/errors.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { type LocalAws, type LocalAwsOptions, startLocalAws } from './aws/local-aws.ts';
import {
  EVENT_BUS_NAME,
  KEY_SECRET_ID,
  PEPPER_SECRET_ID,
  QUEUE_KEY_SECRET_ID,
  TABLE_NAME,
} from './bridge-names.ts';
import type { DataFolder } from './data-folder.ts';

export interface BridgeAwsOptions {
  readonly port: number;
  readonly folder: DataFolder;
  readonly apiKey: string;
  readonly clock: LocalAwsOptions['figuresClock'];
  readonly onDropped?: LocalAwsOptions['onDropped'];
}

/** Closes everything again when a step fails. */
export async function openBridgeAws(options: BridgeAwsOptions): Promise<LocalAws> {
  const { port, folder, apiKey, clock, onDropped } = options;
  const aws = await startLocalAws({
    port,
    tables: folder.tables,
    onAccepted: (event) => folder.keepEvent(event),
    onDropped,
    figuresClock: clock,
  });
  try {
    aws.bus.createBus(EVENT_BUS_NAME);
    aws.secrets.create(KEY_SECRET_ID, apiKey);
    aws.secrets.create(PEPPER_SECRET_ID, folder.pepper);
    aws.secrets.create(QUEUE_KEY_SECRET_ID, folder.queueKey);
    await openTable(aws, folder);
    return aws;
  } catch (error) {
    await aws.close();
    throw error;
  }
}

export function localDynamoDb({ endpoint, credentials }: LocalAws): DynamoDBClient {
  return new DynamoDBClient({ endpoint, region: 'us-east-1', credentials });
}

/** Rejects with what a person must do when a folder that was used before has no table, or half of one. */
async function openTable(aws: LocalAws, folder: DataFolder): Promise<void> {
  const client = localDynamoDb(aws);
  try {
    if (!(await hasTable(client))) {
      if (folder.hasEvents) throw folder.damagedTables('the table is gone, although events of it were kept');
      await client.send(new CreateTableCommand(tableDefinition(TABLE_NAME)));
    }
    // As on AWS, the table can be used only some time after the answer.
    const waiting = { client, maxWaitTime: 10, minDelay: 1, maxDelay: 1 };
    await waitUntilTableExists(waiting, { TableName: TABLE_NAME }).catch((error: unknown) => {
      throw toError(error).name === 'TimeoutError'
        ? folder.damagedTables('the table is not complete')
        : error;
    });
  } finally {
    client.destroy();
  }
}

async function hasTable(client: DynamoDBClient): Promise<boolean> {
  try {
    await client.send(new DescribeTableCommand({ TableName: TABLE_NAME }));
    return true;
  } catch (error) {
    if (error instanceof ResourceNotFoundException) return false;
    throw error;
  }
}
