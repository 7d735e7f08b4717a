declare module 'dynalite' {
  import type { Server } from 'node:http';

  export interface DynaliteOptions {
    /** A folder; in memory when absent. */
    readonly path?: string;
    readonly createTableMs?: number;
    readonly deleteTableMs?: number;
    readonly updateTableMs?: number;
  }

  export default function dynalite(options?: DynaliteOptions): Server;
}

declare module 'dynalite/db/index.js' {
  import type { DynaliteOptions } from 'dynalite';

  /** What reads a range; `close` frees the snapshot of the data that it holds. */
  export interface LevelIterator {
    close(): Promise<void>;
    /** Called by dynalite's streams when they end, if it is there. */
    return?(): Promise<void>;
  }

  export interface LevelDatabase {
    open(): Promise<void>;
    keys(options?: object): LevelIterator;
    values(options?: object): LevelIterator;
    /** Called by each iterator when it is made. */
    attachResource(resource: object): void;
    /** Called by each iterator when it is closed. */
    detachResource(resource: object): void;
  }

  export interface Store {
    readonly db: LevelDatabase;
    readonly lifecycleManager: { gracefulClose(): Promise<void> };
  }

  const databases: { create: (options: DynaliteOptions) => Store };
  export default databases;
}
