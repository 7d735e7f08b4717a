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

  export interface Store {
    readonly db: { open(): Promise<void> };
    readonly lifecycleManager: { gracefulClose(): Promise<void> };
  }

  const databases: { create: (options: DynaliteOptions) => Store };
  export default databases;
}
