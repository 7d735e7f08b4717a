/** Runs a local DynamoDB (dynalite) in this process, without a port of its own. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { DynaliteOptions } from 'dynalite';
import dynalite from 'dynalite';
import type {
  Databases,
  LevelDatabase,
  LevelIterator,
  Store,
  StoredItem,
  TableDescription,
} from 'dynalite/db/index.js';
import databaseOperations from 'dynalite/db/index.js';
import { AppError, toError } from '../../../shared/runtime/errors.ts';

export interface LocalDynamoDb {
  /** Answers the request. Its body must not have been read. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** dynalite names it with each write. */
  readonly store: object;
  /** Reads everything that is kept once. Rejects with the reason when a part cannot be read. */
  readThrough(): Promise<void>;
  /** Resolves when other processes may use the folder. */
  close(): Promise<void>;
}

/**
 * Keeps the tables in memory without a folder. Rejects when the folder cannot be opened, for example because another
 * process uses it.
 */
export async function openLocalDynamoDb(folder?: string): Promise<LocalDynamoDb> {
  const path = folder === undefined ? {} : { path: folder };
  const { server, store } = createServerAndStore({
    ...path,
    createTableMs: 0,
    deleteTableMs: 0,
    updateTableMs: 0,
  });
  try {
    await store.db.open();
  } catch (error) {
    const reason = toError(toError(error).cause ?? error).message;
    throw new AppError('local_tables_unavailable', `The tables in ${folder} cannot be opened: ${reason}`, {
      cause: error,
    });
  }
  return {
    handle(request, response) {
      server.emit('request', request, response);
      // dynalite throws what a request emits as an error, and a client that goes away must not end this process.
      request.removeAllListeners('error');
      request.on('error', () => response.destroy());
    },
    store,
    readThrough: () => readThrough(store),
    close: () => store.lifecycleManager.gracefulClose(),
  };
}

refuseEmptyIndexKeys(databaseOperations);

/** This many items are in memory at a time. An item has at most 400 KB, and most have less than one. */
const READ_AT_ONCE = 100;

async function readThrough({ db }: Store): Promise<void> {
  const values = db.values();
  try {
    while ((await values.nextv(READ_AT_ONCE)).length > 0);
  } finally {
    await values.close();
  }
}

/**
 * Catches dynalite's store while it is created, because dynalite 4.0.0 keeps the store to itself, closes it only
 * behind a server that was listening, and throws from a callback that cannot be caught when the store cannot be
 * opened.
 */
function createServerAndStore(options: DynaliteOptions): { readonly server: Server; readonly store: Store } {
  const { create } = databaseOperations;
  const stores: Store[] = [];
  databaseOperations.create = (storeOptions) => {
    const store = create(storeOptions);
    closeIteratorsWithTheirStreams(store.db);
    stores.push(store);
    return store;
  };
  try {
    const server = dynalite(options);
    const [store] = stores;
    if (store === undefined) throw new Error('dynalite did not create a store; is it still version 4.0.0?');
    return { server, store };
  } finally {
    databaseOperations.create = create;
  }
}

/**
 * When a stream of dynalite 4.0.0 ends, it calls `return` of the iterator that it reads, if that exists. The
 * iterators of the database have only `close`. So each query left one open, with its snapshot of the data and its
 * buffers in native memory: about 35 KiB a query.
 */
function closeIteratorsWithTheirStreams(db: LevelDatabase): void {
  const keys = db.keys.bind(db);
  const values = db.values.bind(db);
  db.keys = (options) => closingOnReturn(keys(options));
  db.values = (options) => closingOnReturn(values(options));
}

function closingOnReturn(iterator: LevelIterator): LevelIterator {
  iterator.return = () => iterator.close();
  return iterator;
}

/** DynamoDB answers with this text (DynamoDB Developer Guide, "Constraints"). */
const REFUSAL =
  'One or more parameter values are not valid. A value specified for a secondary index key is not supported. ' +
  'The AttributeValue for a key attribute cannot contain an empty string value.';

/** From now on, each write of this process that leaves an index with an empty key is refused and changes nothing. */
function refuseEmptyIndexKeys(databases: Databases): void {
  const { updateIndexes } = databases;
  databases.updateIndexes = (store, table, before, after, done) => {
    if (after !== null && hasEmptyIndexKey(table, after)) done(databases.validationError(REFUSAL));
    else updateIndexes(store, table, before, after, done);
  };
}

function hasEmptyIndexKey(table: TableDescription, item: StoredItem): boolean {
  const { GlobalSecondaryIndexes = [], LocalSecondaryIndexes = [] } = table;
  return [...GlobalSecondaryIndexes, ...LocalSecondaryIndexes]
    .flatMap(({ KeySchema }) => KeySchema)
    .some(({ AttributeName }) => item[AttributeName]?.['S'] === '' || item[AttributeName]?.['B'] === '');
}
