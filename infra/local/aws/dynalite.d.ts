declare module 'dynalite' {
  import type { Server } from 'node:http';

  export interface DynaliteOptions {
    /** The tables are in this folder. Without one they are in memory. */
    readonly path?: string;
    readonly createTableMs?: number;
    readonly deleteTableMs?: number;
    readonly updateTableMs?: number;
  }

  export default function dynalite(options?: DynaliteOptions): Server;
}

declare module 'dynalite/db/index.js' {
  import type { DynaliteOptions } from 'dynalite';

  /** Reads a range. `close` frees the snapshot of the data that it holds. */
  export interface LevelIterator {
    close(): Promise<void>;
    /** Resolves to an empty list at the end. */
    nextv(count: number): Promise<readonly unknown[]>;
    /** dynalite's streams call this when they end, if it exists. */
    return?(): Promise<void>;
  }

  export interface LevelDatabase {
    open(): Promise<void>;
    keys(options?: object): LevelIterator;
    values(options?: object): LevelIterator;
    /** Each iterator calls this when it is made. */
    attachResource(resource: object): void;
    /** Each iterator calls this when it is closed. */
    detachResource(resource: object): void;
  }

  export interface Store {
    readonly db: LevelDatabase;
    readonly lifecycleManager: { gracefulClose(): Promise<void> };
  }

  interface KeyPart {
    readonly AttributeName: string;
  }

  /** These parts of a table's description are used. */
  export interface TableDescription {
    readonly TableName: string;
    readonly GlobalSecondaryIndexes?: readonly { readonly KeySchema: readonly KeyPart[] }[];
    readonly LocalSecondaryIndexes?: readonly { readonly KeySchema: readonly KeyPart[] }[];
  }

  /** An item has its attributes by name, each with its type: `{ "S": "text" }`. */
  export type StoredItem = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

  export interface Databases {
    create: (options: DynaliteOptions) => Store;
    /** Every write calls this between its conditions and its effect. `after` is null when the item is deleted. */
    updateIndexes: (
      store: Store,
      table: TableDescription,
      before: StoredItem | undefined,
      after: StoredItem | null,
      done: (error?: Error) => void,
    ) => void;
    validationError(message: string): Error;
  }

  const databases: Databases;
  export default databases;
}
