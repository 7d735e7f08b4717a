/** Makes the folder of `--data` level by level, or says in a sentence why it cannot be made, and keeps it to its user. */

import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { UsageError } from '../../process/option-values.ts';
import { codeOf, reasonOf } from '../../process/system-error.ts';

/** Throws a `UsageError` when there is no such folder afterwards. */
export function makeFolder(folder: string): void {
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
export function makeOne(folder: string): void {
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
export function closeToOthers(folder: string, say: (sentence: string) => void): void {
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
