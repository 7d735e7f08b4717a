/**
 * Runs the stand-in of DynamoDB for `npm run bench -- api` in a process of its own, as the real one is. It ends with its parent.
 */

import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { startLocalAws } from '../../infra/local/aws/local-aws.ts';
import { tableDefinition } from '../../shared/store/table.ts';
import { createTable } from '../local/aws/aws-under-test.ts';

const { endpoint } = await startLocalAws({ accessKeyId: 'local' });
const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
await createTable(
  new DynamoDBClient({ endpoint, region: 'us-east-1', credentials }),
  tableDefinition('bench'),
);
process.send?.(endpoint);
process.on('disconnect', () => process.exit(0));
