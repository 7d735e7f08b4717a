/** Opens a table of marks on the local AWS, as the page of the package describes it. */

import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import { createTable, openAws } from '../../local/aws/aws-under-test.ts';

export interface MarkTableUnderTest {
  readonly documents: DynamoDBDocument;
  readonly tableName: string;
  /** A process that uses the table runs with these variables. */
  readonly environment: Readonly<Record<string, string>>;
}

const definition = {
  TableName: 'event-marks',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
} satisfies CreateTableCommandInput;

export async function openMarkTable(): Promise<MarkTableUnderTest> {
  const { aws, tables } = await openAws();
  await createTable(tables, definition);
  const documents = DynamoDBDocument.from(tables);
  return { documents, tableName: definition.TableName, environment: aws.environment };
}
