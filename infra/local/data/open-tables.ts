/** Opens the tables of a data folder, and with them the lock that keeps every other bridge out of it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import { UsageError } from '../../process/option-values.ts';
import { codeOf } from '../../process/system-error.ts';
import { type LocalDynamoDb, openLocalDynamoDb } from '../aws/dynamodb.ts';
import { makeOne } from './make-folder.ts';
import { damagedTables, damageOfFiles, isDamage, leftOut } from './tables-damage.ts';

/** A bridge that was killed holds the lock until the system has taken its memory back, which takes milliseconds. */
const LOCK_WAIT_MS = 1_000;
const LOCK_RETRY_MS = 50;

export interface TablesSurroundings {
  readonly clock: Clock;
  readonly print: (line: string) => void;
}

/** The file holds the process id of the bridge that uses the folder. */
export const PID_FILE = 'bridge.pid';

/**
 * Opens the tables and reads them through, so that damage is found now and not in the middle of a run. The operating
 * system holds the lock for the process and frees it when the process ends. The file beside it only says who holds the
 * lock, for the error's sentence. Its number proves nothing, because numbers are used again.
 */
export async function openTables(dataDir: string, surroundings: TablesSurroundings): Promise<LocalDynamoDb> {
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
