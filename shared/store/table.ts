/** Defines the few calls that the bridge makes to its table, as data. One adapter compiles them for DynamoDB, another is in memory. */

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
  /** Attributes to write; those that are undefined are left alone. */
  readonly set: Readonly<Record<string, Attribute | undefined>>;
  readonly remove?: readonly string[];
  readonly condition?: Condition;
}

/** The sparse index of the items that have the attribute `work`; it holds keys only. */
export const WORK_INDEX = { name: 'work', partitionKey: 'work', sortKey: 'pk' } as const;

/** The index of an account's records that have events, by the time of the latest event; it holds keys only. */
export const FEED_INDEX = { name: 'feed', partitionKey: 'account_id', sortKey: 'changed_at' } as const;

/** The index of a project's operations by their creation time; it holds keys only, and is written once per operation. */
export const CREATED_INDEX = { name: 'created', partitionKey: 'pk', sortKey: 'created_at' } as const;

/** The index of lists that people page through, such as projects, tokens and audit records; it holds keys only. */
export const LIST_INDEX = { name: 'list', partitionKey: 'list', sortKey: 'list_order' } as const;

export const INDEXES = [WORK_INDEX, FEED_INDEX, CREATED_INDEX, LIST_INDEX] as const;

export type Index = (typeof INDEXES)[number];

/** One page of an index, eventually consistent. */
export interface IndexQuery {
  readonly index: Index;
  readonly partition: string;
  /** Only items whose sort key is greater. */
  readonly after?: string | undefined;
  readonly newestFirst?: boolean | undefined;
  readonly limit: number;
  /** Where the previous page ended. */
  readonly start?: IndexPosition | undefined;
}

/** JSON that only the table's adapter interprets. */
export type IndexPosition = Readonly<Record<string, string>>;

export interface IndexPage {
  readonly keys: readonly (Key & { readonly sortKey: string })[];
  /** Undefined when there is nothing more at the moment. */
  readonly next: IndexPosition | undefined;
}

/** Numbers that several processes add to. */
export interface TableCounters {
  /**
   * Adds to a number of an item and to the members of a map beside it, in one write, and gives the sums. Nothing was added when the
   * answer is `missing`: the map is not there; or `refused`: the map was to start over and somebody else had started it over
   * already, or the time was not where it was to be moved from. A rejection means that the outcome is unknown: it may have been added.
   */
  incrementMembers(increment: MemberIncrement): Promise<CountedMembers | 'missing' | 'refused'>;
}

export interface MemberIncrement {
  readonly key: Key;
  /** An attribute that counts for ever. */
  readonly total: { readonly name: string; readonly by: number };
  /** A map of counts within a window of time, and the attribute that says which window. */
  readonly members: {
    readonly name: string;
    readonly by: Readonly<Record<string, number>>;
    readonly windowName: string;
    readonly window: number;
  };
  /** The map is made anew, unless it is of this window or of a later one. */
  readonly startsOver: boolean;
  /** A point in time beside the counts, milliseconds since the epoch; it stays where it is when it has no move. */
  readonly time: { readonly name: string; readonly move?: TimeMove | undefined };
}

export type TimeMove =
  /** By so much, if it is between these two. */
  | { readonly kind: 'onward'; readonly byMs: number; readonly earliestMs: number; readonly latestMs: number }
  /** To there, if it is before the one or after the other of these two, or has never been set. */
  | { readonly kind: 'anew'; readonly toMs: number; readonly beforeMs: number; readonly afterMs: number };

export interface CountedMembers {
  readonly total: number;
  /** After the move; 0: it was never moved. */
  readonly timeMs: number;
  /** The window that the map is of. */
  readonly window: number;
  /** At least those that were added to. */
  readonly members: Readonly<Record<string, number>>;
}

/** Pages of an index, for the lists that people read. */
export interface TableIndexes {
  query(query: IndexQuery): Promise<IndexPage>;
}

export interface WorkQuery {
  readonly work: string;
  readonly pk?: string;
}

export interface WorkPageQuery extends WorkQuery {
  readonly limit: number;
  /** Where the previous page ended; undefined for the first page. */
  readonly start?: IndexPosition | undefined;
}

export interface WorkPage {
  readonly keys: readonly Key[];
  /** Undefined when there is nothing behind this page at the moment. */
  readonly next: IndexPosition | undefined;
}

export interface Table {
  /** A strongly consistent read. */
  get(key: Key): Promise<Item | undefined>;
  /** A strongly consistent read, in any order, without the items that do not exist. */
  getMany(keys: readonly Key[]): Promise<readonly Item[]>;
  /**
   * One conditional write of one item, which it creates when missing. `refused`: the condition did not hold.
   * A rejection means that the outcome is unknown: the write may have been applied.
   */
  update(update: Update): Promise<'applied' | 'refused'>;
  /** All keys of the partition `work` in the sparse index, or those with one `pk`. The read is eventually consistent. */
  queryWork(query: WorkQuery): Promise<readonly Key[]>;
  /** At most `limit` of the same keys, from where the previous page ended. A key that was added meanwhile may be missing. */
  queryWorkPage(query: WorkPageQuery): Promise<WorkPage>;
}
