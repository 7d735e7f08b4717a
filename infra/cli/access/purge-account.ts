/** Deletes what was recorded of a removed account, with the credentials of AWS, so that anybody may have its id. */

import {
  type AttributeValue,
  BatchWriteItemCommand,
  DynamoDBClient,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { ACCOUNT_ATTRIBUTES, type AccountItem } from '../../../shared/accounts/account.ts';
import { type AccountStore, createAccountStore } from '../../../shared/accounts/account-store.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { createDynamoDbPartitions, createDynamoDbTable } from '../../../shared/store/dynamodb-table.ts';
import { isOfAccount } from '../../../shared/store/keys.ts';
import { KEY } from '../../../shared/store/table-access.ts';
import { UsageError } from '../../process/command.ts';
import type { Surroundings } from '../../process/surroundings.ts';
import { actAudited, awsIdentity } from './audited-act.ts';
import { localSettings } from './put-key.ts';

export interface PurgePlace {
  readonly table: string;
  /** The local AWS of a run. It is undefined for a bridge on AWS. */
  readonly local: { readonly aws_endpoint: string; readonly access_key_id: string } | undefined;
}

/** A function sees the removal within 15 s, and an invocation of the poller that had begun before lasts a minute. */
const STILL_SERVED_MS = 120_000;

/** A request that writes many items takes this many. */
const ITEMS_PER_REQUEST = 25;

/** Items that the table does not take are sent again, each time after a longer pause. A minute of that is an outage. */
const ATTEMPTS_MAX = 8;

/**
 * Resolves to the number of deleted items. A command that was stopped goes on where it was when it is repeated, because
 * what is deleted is found no more. The table is read whole, so that an item is found whatever lists it is in. Rejects with
 * `UsageError`.
 */
export async function purgeAccount(
  { table: tableName, local }: PurgePlace,
  accountId: string,
  { clock, note, signal }: Pick<Surroundings, 'clock' | 'note' | 'signal'>,
): Promise<number> {
  const settings = local === undefined ? {} : localSettings(local);
  const client = new DynamoDBClient(settings);
  try {
    const table = createDynamoDbTable(client, tableName);
    const partitions = createDynamoDbPartitions(client, tableName, {
      reads: { accounts: [...KEY, ...ACCOUNT_ATTRIBUTES] },
    });
    const store = createAccountStore(table, partitions, { clock, newId: () => crypto.randomUUID() });
    const client_id = await awsIdentity(settings);
    const removed = await removedItem(store, accountId);
    const about = { account_id: accountId, generation: removed.generation, client_id };
    const act = { table, clock, ...about, call: 'purgeAccount', resource: { account_id: accountId } };
    return await actAudited(act, async () => {
      await mark(store, removed, { purge: 'begun', changed_by: client_id });
      const waitMs = Date.parse(removed.state_since ?? removed.changed_at) + STILL_SERVED_MS - clock.now();
      if (waitMs > 0) {
        note(
          `The records go in ${Math.ceil(waitMs / 1_000)} s, when no function serves the account any more.`,
        );
        await clock.sleep(waitMs, signal);
      }
      const count = await deleteItems(client, { tableName, accountId, clock, note, signal });
      await mark(store, await removedItem(store, accountId), { purge: 'done', changed_by: client_id });
      return count;
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { name, message } = toError(error);
    throw new UsageError(
      `The records of ${accountId} are not all deleted (${name}: ${message}). Check the credentials of AWS and --table (${tableName}), and repeat the command; it goes on where it was.`,
      { cause: error },
    );
  } finally {
    client.destroy();
  }
}

async function removedItem(store: AccountStore, accountId: string): Promise<AccountItem> {
  const found = await store.get(accountId);
  if (found?.state === 'removed') return found;
  throw new UsageError(`The table does not say that the account ${accountId} is removed; check --table.`);
}

async function mark(
  store: AccountStore,
  found: AccountItem,
  change: Parameters<AccountStore['change']>[1],
): Promise<void> {
  if ((await store.change(found, change)) !== undefined) return;
  throw new UsageError(
    'Others changed this account at the same time. Look at it again before you repeat it.',
  );
}

interface Deletion extends Pick<Surroundings, 'clock' | 'note' | 'signal'> {
  readonly tableName: string;
  readonly accountId: string;
}

type StoredKey = Record<string, AttributeValue>;

async function deleteItems(client: DynamoDBClient, deletion: Deletion): Promise<number> {
  const { tableName, accountId, note, signal } = deletion;
  let [readCount, deletedCount] = [0, 0];
  let start: StoredKey | undefined;
  do {
    const page = await client.send(
      new ScanCommand({
        TableName: tableName,
        ProjectionExpression: 'pk, sk, account_id',
        ConsistentRead: true,
        ExclusiveStartKey: start,
      }),
      { abortSignal: signal },
    );
    const items = page.Items ?? [];
    const keys = items.filter((item) => isOfAccount(keyIn(item), item['account_id']?.S, accountId));
    for (let from = 0; from < keys.length; from += ITEMS_PER_REQUEST)
      await deleteSome(client, keys.slice(from, from + ITEMS_PER_REQUEST), deletion);
    readCount += items.length;
    deletedCount += keys.length;
    note(`${readCount} items of the table read, ${deletedCount} of the account deleted.`);
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
  return deletedCount;
}

function keyIn({ pk, sk }: StoredKey): { readonly pk: string; readonly sk: string } {
  return { pk: pk?.S ?? '', sk: sk?.S ?? '' };
}

async function deleteSome(
  client: DynamoDBClient,
  items: readonly StoredKey[],
  { tableName, clock, signal }: Deletion,
): Promise<void> {
  let left = items.map((item) => ({ DeleteRequest: { Key: marshalled(keyIn(item)) } }));
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const command = new BatchWriteItemCommand({ RequestItems: { [tableName]: left } });
    const { UnprocessedItems } = await client.send(command, { abortSignal: signal });
    left = (UnprocessedItems?.[tableName] ?? []) as typeof left;
    if (left.length === 0) return;
    await clock.sleep(500 * 2 ** attempt, signal);
  }
  throw new Error(`The table does not take ${left.length} deletions`);
}

function marshalled({ pk, sk }: { readonly pk: string; readonly sk: string }): StoredKey {
  return { pk: { S: pk }, sk: { S: sk } };
}
