/** Deploys the table, from the definition that the local stand-in also uses. */

import { RemovalPolicy } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import type * as kms from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { tableDefinition } from '../../../shared/store/dynamodb/table-definition.ts';

const TTL_ATTRIBUTE = 'expires_at';

export class State extends Construct {
  readonly table: dynamodb.Table;

  constructor(
    scope: Construct,
    { tableName, dataKey }: { readonly tableName: string; readonly dataKey: kms.IKey | undefined },
  ) {
    super(scope, 'State');
    const { KeySchema, GlobalSecondaryIndexes } = tableDefinition(tableName);
    this.table = new dynamodb.Table(this, 'Table', {
      tableName,
      ...keysOf(KeySchema),
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      timeToLiveAttribute: TTL_ATTRIBUTE,
      deletionProtection: true,
      ...(dataKey === undefined
        ? { encryption: dynamodb.TableEncryption.AWS_MANAGED }
        : { encryption: dynamodb.TableEncryption.CUSTOMER_MANAGED, encryptionKey: dataKey }),
      removalPolicy: RemovalPolicy.RETAIN,
    });
    for (const { IndexName = '', KeySchema: keys } of GlobalSecondaryIndexes ?? []) {
      this.table.addGlobalSecondaryIndex({
        indexName: IndexName,
        ...keysOf(keys),
        projectionType: dynamodb.ProjectionType.KEYS_ONLY,
      });
    }
  }

  indexArn(name: string): string {
    return `${this.table.tableArn}/index/${name}`;
  }
}

function keysOf(
  schema: readonly {
    readonly AttributeName?: string | undefined;
    readonly KeyType?: string | undefined;
  }[] = [],
) {
  const attribute = (type: string) => {
    const name = schema.find(({ KeyType }) => KeyType === type)?.AttributeName ?? '';
    return { name, type: dynamodb.AttributeType.STRING };
  };
  return { partitionKey: attribute('HASH'), sortKey: attribute('RANGE') };
}
