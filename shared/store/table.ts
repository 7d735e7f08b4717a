/** The few table calls that the protocol needs, as data: one adapter compiles them for DynamoDB, one is in memory. */

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
  /** Attributes to write; undefined ones are left alone. */
  readonly set: Readonly<Record<string, Attribute | undefined>>;
  readonly remove?: readonly string[];
  readonly condition?: Condition;
}

/** The sparse index holds the items that have this attribute, keys only. */
export const WORK_INDEX = { name: 'work', partitionKey: 'work', sortKey: 'pk' } as const;

export interface Table {
  /** Strongly consistent. */
  get(key: Key): Promise<Item | undefined>;
  /** Strongly consistent, in any order, without those that do not exist. */
  getMany(keys: readonly Key[]): Promise<readonly Item[]>;
  /**
   * One conditional write of one item, which it creates when missing. `refused`: the condition did not hold.
   * A rejection means that the outcome is unknown: the write may have been applied.
   */
  update(update: Update): Promise<'applied' | 'refused'>;
  /** Keys in the sparse index, eventually consistent; all of the partition `work`, or those of one `pk` of it. */
  queryWork(query: { readonly work: string; readonly pk?: string }): Promise<readonly Key[]>;
}
