/**
 * Keeps what `--data` asks for: the tables, every event, the poller's log, and which simulated world they belong to,
 * with its port.
 */

import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../shared/runtime/clock.ts';
import { UsageError } from '../process/command.ts';
import { isSystemError, reasonOf } from '../process/operating-system.ts';
import type { LocalDynamoDb } from './aws/dynamodb.ts';
import type { DeliveredEvent } from './aws/event-bridge/deliveries.ts';
import {
  IDENTITY_FILE,
  identify,
  keptPepper,
  keptQueueKey,
  keptUpstreamPort,
  newSecret,
  openLineFile,
  type UpstreamPort,
} from './kept-files.ts';
import { closeToOthers, damagedTables, makeFolder, openTables, PID_FILE } from './kept-tables.ts';
import { type StartOptions, simulatedName } from './start-options.ts';

export interface DataFolder extends AsyncDisposable {
  /** Undefined means that the tables are in memory. */
  readonly tables: LocalDynamoDb | undefined;
  /** An earlier run has kept events, so the tables hold their operations. */
  readonly hasEvents: boolean;
  /** Says that the tables lack what they must have. */
  damagedTables(damage: string): Error;
  /** The clocks of an accelerated or resumed run agree with real time at this instant, in ms since the epoch. */
  readonly originMs: number;
  /**
   * Keeps an event before PutEvents answers, so that an accepted event survives a kill, as on AWS. Throws when it
   * cannot.
   */
  keepEvent(event: DeliveredEvent): void;
  keepLogLine(line: string): void;
  /** The pepper keys the hashes of tokens, so that the tokens of one run are valid in the next. */
  readonly pepper: string;
  /** The key of the queue seals what waits in line, so that the next run can send it. */
  readonly queueKey: string;
  /** It is undefined when the next run may have another port. */
  readonly upstreamPort: UpstreamPort | undefined;
}

export interface FolderSurroundings {
  readonly clock: Clock;
  readonly print: (line: string) => void;
}

/** Throws a `UsageError` that says what is wrong, where, and what to do when the folder cannot be used. */
export async function openDataFolder(
  options: StartOptions,
  surroundings: FolderSurroundings,
): Promise<DataFolder> {
  const { dataDir } = options;
  if (dataDir === undefined) return inMemory(surroundings.clock.now());
  try {
    makeFolder(dataDir);
    // The lock comes first, because without it this process must not read or write anything else.
    const tables = await openTables(dataDir, surroundings);
    return await closingOnFailure(tables, () => {
      closeToOthers(dataDir, surroundings.print);
      return openFiles(dataDir, tables, { options, surroundings });
    });
  } catch (error) {
    throw isSystemError(error) ? notUsable(dataDir, error) : error;
  }
}

function inMemory(originMs: number): DataFolder {
  return {
    tables: undefined,
    hasEvents: false,
    damagedTables: (damage) => new Error(`The tables in memory are of no use (${damage})`),
    originMs,
    keepEvent: () => {},
    keepLogLine: () => {},
    pepper: newSecret(),
    queueKey: newSecret(),
    upstreamPort: undefined,
    [Symbol.asyncDispose]: async () => {},
  };
}

async function closingOnFailure<T>(tables: LocalDynamoDb, open: () => T): Promise<T> {
  try {
    return open();
  } catch (error) {
    await tables.close();
    throw error;
  }
}

function openFiles(
  dataDir: string,
  tables: LocalDynamoDb,
  { options, surroundings }: { readonly options: StartOptions; readonly surroundings: FolderSurroundings },
): DataFolder {
  const { clock, print } = surroundings;
  writeFileSync(join(dataDir, PID_FILE), String(process.pid), { mode: 0o600 });
  const now = { upstream: nameOf(options), speed: options.speed, originMs: clock.now() };
  const { originMs } = identify(join(dataDir, IDENTITY_FILE), now);
  const pepper = keptPepper(join(dataDir, 'token-pepper'));
  const queueKey = keptQueueKey(join(dataDir, 'queue-key'));
  const upstreamPort = keptUpstreamPort(join(dataDir, 'upstream-port'));
  const eventsFile = join(dataDir, 'events.jsonl');
  const hasEvents = (statSync(eventsFile, { throwIfNoEntry: false })?.size ?? 0) > 0;
  const events = openLineFile(eventsFile, {
    say: print,
    whenFull: 'events wait in the table and are published again until it can.',
  });
  const log = openLineFile(join(dataDir, 'poller.log'), {
    say: print,
    whenFull: 'log lines are lost until it can.',
  });
  return {
    tables,
    hasEvents,
    damagedTables: (damage) => damagedTables(join(dataDir, 'tables'), damage),
    originMs,
    pepper,
    queueKey,
    upstreamPort,
    keepEvent: (event) => events.append(JSON.stringify(event)),
    keepLogLine(line) {
      try {
        log.append(line);
      } catch {
        // The file has reported it once, and the bridge goes on without its log.
      }
    },
    [Symbol.asyncDispose]: () => tables.close(),
  };
}

function nameOf({ upstream }: StartOptions): string {
  return upstream.kind === 'real' ? upstream.baseUrl : simulatedName(upstream);
}

function notUsable(dataDir: string, error: unknown): UsageError {
  return new UsageError(
    `The folder of --data, ${dataDir}, cannot be used (${reasonOf(error)}); make it writable, or choose another one.`,
    { cause: error },
  );
}
