/**
 * Defines the few calls that the bridge makes to its table, as data, and the table's indexes. One adapter compiles the calls
 * for DynamoDB, and another one keeps the items in memory. `updateOnce` is a write that recognises itself when the SDK has
 * repeated it.
 */

import { AppError } from '../runtime/errors.ts';

export type Attribute =
  | string
  | number
  | boolean
  | null
  | readonly Attribute[]
  | { readonly [name: string]: Attribute | undefined };

export interface Key {
  readonly pk: string;
  readonly sk: string;
}

export type Item = Key & { readonly [name: string]: Attribute | undefined };

export type Condition =
  | { readonly kind: 'absent'; readonly name: string }
  | { readonly kind: 'equals'; readonly name: string; readonly value: string | number }
  | { readonly kind: 'less'; readonly name: string; readonly value: string | number }
  | { readonly kind: 'any' | 'all'; readonly of: readonly Condition[] };

export interface Update {
  readonly key: Key;
  /** These attributes are written. Those that are undefined are left alone. */
  readonly set: Readonly<Record<string, Attribute | undefined>>;
  readonly remove?: readonly string[];
  readonly condition?: Condition;
}

/** This sparse index shows the items that have the attribute `work`. It holds keys only. */
export const WORK_INDEX = { name: 'work', partitionKey: 'work', sortKey: 'pk' } as const;

/** This index shows an account's records that have events, by the time of the latest event. It holds keys only. */
export const FEED_INDEX = { name: 'feed', partitionKey: 'account_id', sortKey: 'changed_at' } as const;

/**
 * This index shows a project's operations by their creation time. It holds keys only, and is written once per
 * operation.
 */
export const CREATED_INDEX = { name: 'created', partitionKey: 'pk', sortKey: 'created_at' } as const;

/** This index shows lists that people page through, such as projects, tokens and audit records. It holds keys only. */
export const LIST_INDEX = { name: 'list', partitionKey: 'list', sortKey: 'list_order' } as const;

/** An item in a list of this index has these attributes. */
export const LISTED = [LIST_INDEX.partitionKey, LIST_INDEX.sortKey] as const;

/** Returns the attributes that put an item into a list of the list index. */
export function listed(list: string, order: string): Record<string, string> {
  return { [LIST_INDEX.partitionKey]: list, [LIST_INDEX.sortKey]: order };
}

export const INDEXES = [WORK_INDEX, FEED_INDEX, CREATED_INDEX, LIST_INDEX] as const;

export type Index = (typeof INDEXES)[number];

/** Asks for one page of an index, which is eventually consistent. */
export interface IndexQuery {
  readonly index: Index;
  readonly partition: string;
  /** Only items whose sort key is greater are returned. */
  readonly after?: string | undefined;
  readonly newestFirst?: boolean | undefined;
  readonly limit: number;
  /** The previous page ended here. */
  readonly start?: IndexPosition | undefined;
}

/** A position is JSON that only the table's adapter interprets. */
export type IndexPosition = Readonly<Record<string, string>>;

export interface IndexPage {
  readonly keys: readonly (Key & { readonly sortKey: string })[];
  /** It is undefined when there is nothing more at the moment. */
  readonly next: IndexPosition | undefined;
}

/** Reads all items of a partition, page by page. */
export interface TablePartitions {
  /** Reads at most 1 MB, beginning where the previous page ended. */
  readPartition(query: PartitionQuery): Promise<ItemPage>;
}

interface PartitionQuery {
  readonly partition: string;
  readonly start?: IndexPosition | undefined;
  /** The read may miss what was written within the last second, and costs half as much. */
  readonly mayLag?: boolean;
}

interface ItemPage {
  readonly items: readonly Item[];
  /** It is undefined when there is nothing behind this page. */
  readonly next: IndexPosition | undefined;
}

/** Reads pages of an index, for the lists that people read. */
export interface TableIndexes {
  query(query: IndexQuery): Promise<IndexPage>;
}

export interface WorkQuery {
  readonly work: string;
  readonly pk?: string;
}

export interface WorkPageQuery extends WorkQuery {
  readonly limit: number;
  /** The previous page ended here. It is undefined for the first page. */
  readonly start?: IndexPosition | undefined;
}

export interface WorkPage {
  readonly keys: readonly Key[];
  /** It is undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

/** The table was too busy to read some of the keys. The items of the others are there. */
export class KeysUnreadError extends AppError {
  readonly items: readonly Item[];
  readonly unread: readonly Key[];

  constructor(tableName: string, items: readonly Item[], unread: readonly Key[]) {
    super('table_throttled', `Table ${tableName} left ${unread.length} keys unread after several attempts`);
    this.items = items;
    this.unread = unread;
  }
}

/** Says in one text which item the key names, because no sort key has a line break. */
export function keyText({ pk, sk }: Key): string {
  return `${pk}\n${sk}`;
}

export interface Table {
  /** Makes a strongly consistent read. */
  get(key: Key): Promise<Item | undefined>;
  /**
   * Makes a strongly consistent read. The items come in any order, and those that do not exist are missing. A key that is
   * asked for twice is read once. Rejects with `KeysUnreadError` when the table was too busy for some of the keys.
   */
  getMany(keys: readonly Key[]): Promise<readonly Item[]>;
  /**
   * Makes one conditional write of one item, which it creates when missing. Resolves to `refused` when the condition
   * did not hold. A rejection means that the outcome is unknown: the write may have been applied.
   */
  update(update: Update): Promise<'applied' | 'refused'>;
  /**
   * Reads all keys of the partition `work` in the sparse index, or those with one `pk`. The read is eventually
   * consistent.
   */
  queryWork(query: WorkQuery): Promise<readonly Key[]>;
  /**
   * Reads at most `limit` of the same keys, from where the previous page ended. A key that was added meanwhile may be
   * missing.
   */
  queryWorkPage(query: WorkPageQuery): Promise<WorkPage>;
}

/**
 * The SDK repeats a write whose reply was lost, and the first attempt, which was made, refuses the repetition. So a write
 * that was refused, or that got no answer, looks at the item: it was made when the item has what it sets under `names`,
 * which no other write sets so. Rejects when it is unknown whether the write was made.
 */
export async function updateOnce(
  table: Table,
  update: Update,
  names: readonly string[],
): Promise<'applied' | 'refused'> {
  const outcome = await table.update(update).catch((error: unknown) => ({ error }));
  if (outcome === 'applied') return outcome;
  const item = await table.get(update.key);
  if (names.every((name) => item?.[name] === update.set[name])) return 'applied';
  if (outcome === 'refused') return outcome;
  throw outcome.error;
}

/** Returns the table as DynamoDB's CreateTable takes it. */
export function tableDefinition(tableName: string) {
  const names = new Set([
    'pk',
    'sk',
    ...INDEXES.flatMap(({ partitionKey, sortKey }) => [partitionKey, sortKey]),
  ]);
  return {
    TableName: tableName,
    BillingMode: 'PAY_PER_REQUEST' as const,
    AttributeDefinitions: [...names].map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
    KeySchema: keySchema('pk', 'sk'),
    GlobalSecondaryIndexes: INDEXES.map(({ name, partitionKey, sortKey }) => ({
      IndexName: name,
      KeySchema: keySchema(partitionKey, sortKey),
      Projection: { ProjectionType: 'KEYS_ONLY' as const },
    })),
  };
}

function keySchema(partitionKey: string, sortKey: string) {
  return [
    { AttributeName: partitionKey, KeyType: 'HASH' as const },
    { AttributeName: sortKey, KeyType: 'RANGE' as const },
  ];
}
