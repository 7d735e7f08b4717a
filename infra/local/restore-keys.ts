/** Gives added accounts their keys back when a folder is used again, or says how a person does. */

import { pollerAccess } from '../../functions/poller/access.ts';
import { createAccountReader } from '../../shared/accounts/account-store.ts';
import { createDynamoDbPartitions } from '../../shared/store/dynamodb/dynamodb-partitions.ts';
import { createDynamoDbTable } from '../../shared/store/dynamodb/dynamodb-table.ts';
import { decideKeys } from './accounts/decide-keys.ts';
import type { LocalAws } from './aws/local-aws.ts';
import { localDynamoDb } from './bridge-aws.ts';
import { TABLE_NAME, UPSTREAM_KEYS_PREFIX } from './bridge-names.ts';
import type { Upstream } from './local-upstream.ts';

/** Resolves to the lines that a person must read. */
export async function restoreKeys(
  aws: LocalAws,
  { baseUrl, apiKey, isSimulated }: Upstream,
): Promise<readonly string[]> {
  const client = localDynamoDb(aws);
  try {
    const table = createDynamoDbTable(client, TABLE_NAME, pollerAccess);
    const partitions = createDynamoDbPartitions(client, TABLE_NAME, pollerAccess);
    const items = await createAccountReader(table, partitions).list();
    const rules = { upstreamHosts: [new URL(baseUrl).host], keySecretPrefix: UPSTREAM_KEYS_PREFIX };
    const { secretIds, lines } = decideKeys(items, { isSimulated, rules });
    for (const secretId of secretIds) aws.secrets.create(secretId, apiKey);
    return lines;
  } finally {
    client.destroy();
  }
}
