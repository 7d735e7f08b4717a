/**
 * Keeps what `--data` asks for: the tables, every event, the poller's log, and which simulated world they belong to, with its port.
 * The tables have the lock that keeps every other bridge out of the folder, and their damage is recognised and explained.
 */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../../shared/runtime/clock.ts';
import { toError } from '../../shared/runtime/errors.ts';
import { UsageError } from '../process/command.ts';
import { codeOf, isSystemError, reasonOf } from '../process/operating-system.ts';
import { type LocalDynamoDb, openLocalDynamoDb } from './aws/dynamodb.ts';
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

/** A bridge that was killed holds the lock until the system has taken its memory back, which takes milliseconds. */
const LOCK_WAIT_MS = 1_000;
const LOCK_RETRY_MS = 50;

interface TablesSurroundings {
  readonly clock: Clock;
  readonly print: (line: string) => void;
}

/** The file holds the process id of the bridge that uses the folder. */
const PID_FILE = 'bridge.pid';

/**
 * Opens the tables and reads them through, so that damage is found now and not in the middle of a run. The operating
 * system holds the lock for the process and frees it when the process ends. The file beside it only says who holds the
 * lock, for the error's sentence. Its number proves nothing, because numbers are used again.
 */
async function openTables(dataDir: string, surroundings: TablesSurroundings): Promise<LocalDynamoDb> {
  const tablesDir = join(dataDir, 'tables');
  // Below /proc the database would try for ever, as Node's recursive mkdir does.
  makeOne(tablesDir);
  const tables = await openUnlocked(dataDir, tablesDir, surroundings.clock);
  try {
    await tables.readThrough();
  } catch (error) {
    await tables.close();
    throw unusable(tablesDir, error);
  }
  for (const part of leftOut(readFileSync(join(tablesDir, 'LOG'), 'utf8')))
    surroundings.print(
      `The tables in ${tablesDir} were damaged: ${part} could not be read and are left out. If you have a copy of the folder of --data, stop the run and put the copy back.`,
    );
  return tables;
}

async function openUnlocked(dataDir: string, tablesDir: string, clock: Clock): Promise<LocalDynamoDb> {
  const deadlineMs = clock.now() + LOCK_WAIT_MS;
  for (;;) {
    // Another bridge that makes the tables at this moment has not written all files yet.
    const damage = damageOfFiles(readdirSync(tablesDir));
    try {
      if (damage === undefined) return await openLocalDynamoDb(tablesDir);
    } catch (error) {
      if (!isLocked(error)) throw unusable(tablesDir, error);
    }
    if (clock.now() >= deadlineMs)
      throw damage === undefined ? inUse(dataDir) : damagedTables(tablesDir, damage);
    await clock.sleep(LOCK_RETRY_MS);
  }
}

/**
 * Returns whether the folder is locked. The database wraps the error of its lock file, so the cause is looked at,
 * too.
 */
function isLocked(error: unknown): boolean {
  for (let cause: unknown = error; cause !== undefined; cause = toError(cause).cause)
    if (codeOf(cause) === 'LEVEL_LOCKED') return true;
  return false;
}

function unusable(tablesDir: string, error: unknown): UsageError {
  let cause = error;
  while (toError(cause).cause !== undefined) cause = toError(cause).cause;
  const reason = toError(cause).message;
  if (isDamage(reason)) return damagedTables(tablesDir, reason);
  return new UsageError(
    `The tables in ${tablesDir} cannot be opened (${reason}); make the folder of --data writable, or choose another one.`,
    { cause: error },
  );
}

function inUse(dataDir: string): UsageError {
  const pidFile = join(dataDir, PID_FILE);
  const holder = existsSync(pidFile) ? readFileSync(pidFile, 'utf8').trim() : '';
  const who = /^\d+$/.test(holder) ? ` (process ${holder})` : '';
  return new UsageError(
    `The folder of --data is in use by another bridge${who}: ${dataDir}. Stop it, or choose another folder.`,
  );
}

/** Throws a `UsageError` when there is no such folder afterwards. */
function makeFolder(folder: string): void {
  try {
    for (const each of missingFolders(resolve(folder))) makeOne(each);
  } catch (error) {
    throw new UsageError(
      `--data is "${folder}", which cannot be made a folder (${reasonOf(error)}); choose another path.`,
      { cause: error },
    );
  }
}

/**
 * Lists the missing folders from the outermost to `folder` itself. Node's own `recursive` never returns for a path
 * below /proc.
 */
function missingFolders(folder: string): readonly string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return [];
  return [...(dirname(folder) === folder ? [] : missingFolders(dirname(folder))), folder];
}

/**
 * Makes one folder. It does nothing when the folder exists, because another process may make it at the same moment.
 */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const isThere = codeOf(error) === 'EEXIST' && statSync(folder).isDirectory();
    if (!isThere) throw error;
  }
}

/**
 * Closes the folder to other users of the machine: whoever made it may have left it open, and earlier versions left the tables and
 * the alerts open. Other files in it are not touched, because they may be a person's own.
 */
function closeToOthers(folder: string, say: (sentence: string) => void): void {
  const tables = join(folder, 'tables');
  const parts = readdirSync(tables).map((name) => join(tables, name));
  for (const path of [folder, join(folder, 'alerts.txt'), tables, ...parts]) {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o077) === 0) continue;
    try {
      chmodSync(path, mode & 0o700);
    } catch (error) {
      say(
        `${path} is open to other users of this machine, and its mode cannot be changed (${reasonOf(error)}). Close it yourself, or choose another folder.`,
      );
    }
  }
}

/** Throws nothing away: the sentence leaves the choice to a person. */
function damagedTables(place: string, damage: string): UsageError {
  return new UsageError(
    `The tables in ${place} are damaged (${damage}). Put a copy of the folder of --data back, or move the folder away to begin anew.`,
  );
}

/** This file names the others. Without it the database begins anew, and deletes what the others hold. */
const INDEX_FILE = 'CURRENT';

/** Returns what is wrong with these files, before the database is opened. */
export function damageOfFiles(names: readonly string[]): string | undefined {
  const hasData = names.some((name) => /\.(ldb|log)$|^MANIFEST-/.test(name));
  return hasData && !names.includes(INDEX_FILE) ? `the file ${INDEX_FILE} is missing` : undefined;
}

/** Says whether the database could not be opened or read because its files are damaged, and not for want of rights or space. */
export function isDamage(reason: string): boolean {
  return /^(Corruption: |IO error: .*(No such file or directory|Invalid argument)$)|is not valid JSON/.test(
    reason,
  );
}

/** Returns which bytes the database could not read when it was opened, from its own log. It has left them out by then. */
export function leftOut(log: string): readonly string[] {
  return [...log.matchAll(/([^/\\\s]+): dropping (\d+) bytes; (.*)$/gm)].map(
    ([, file, bytes, reason]) => `${bytes} bytes of ${file} (${reason})`,
  );
}
