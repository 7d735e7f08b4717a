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

/** Everything of an account that an event tells of, by the time of its latest one; keys only. */
export const FEED_INDEX = { name: 'feed', partitionKey: 'account_id', sortKey: 'changed_at' } as const;

/** The operations of a project by the time at which the upstream created them, keys only. Written once per operation. */
export const CREATED_INDEX = { name: 'created', partitionKey: 'pk', sortKey: 'created_at' } as const;

/** Whatever people page through by a name or a time of its own: projects, tokens, audit records; keys only. */
export const LIST_INDEX = { name: 'list', partitionKey: 'list', sortKey: 'list_order' } as const;

export const INDEXES = [WORK_INDEX, FEED_INDEX, CREATED_INDEX, LIST_INDEX] as const;

export type Index = (typeof INDEXES)[number];

/** One page of an index, eventually consistent. */
export interface IndexQuery {
  readonly index: Index;
  readonly partition: string;
  /** Only what sorts behind it. */
  readonly after?: string | undefined;
  readonly newestFirst?: boolean | undefined;
  readonly limit: number;
  /** Where the page before ended. */
  readonly start?: IndexPosition | undefined;
}

/** Opaque outside of the table's adapter; JSON. */
export type IndexPosition = Readonly<Record<string, string>>;

export interface IndexPage {
  readonly keys: readonly (Key & { readonly sortKey: string })[];
  /** Undefined: nothing more at the moment. */
  readonly next: IndexPosition | undefined;
}

/** Numbers that several processes add to. */
export interface TableCounters {
  /**
   * Adds to a number of an item, creating either when missing, and gives the sum. A rejection means that the outcome is
   * unknown: it may have been added.
   */
  increment(counter: Increment): Promise<number>;
}

export interface Increment {
  readonly key: Key;
  /** Of the attribute. */
  readonly name: string;
  readonly by: number;
}

/** What pages and lists for people need of the table; the protocol does without. */
export interface TableIndexes {
  query(query: IndexQuery): Promise<IndexPage>;
}

export interface WorkQuery {
  readonly work: string;
  readonly pk?: string;
}

export interface WorkPageQuery extends WorkQuery {
  readonly limit: number;
  /** Where the page before ended; undefined: at the beginning. */
  readonly start?: IndexPosition | undefined;
}

export interface WorkPage {
  readonly keys: readonly Key[];
  /** Undefined: there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

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
  queryWork(query: WorkQuery): Promise<readonly Key[]>;
  /** At most `limit` of the same keys, from where the page before ended; a key that came meanwhile may be left out. */
  queryWorkPage(query: WorkPageQuery): Promise<WorkPage>;
}
