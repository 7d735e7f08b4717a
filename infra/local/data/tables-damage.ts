/** Recognises damage of the tables in a data folder, and says what to do about it. The database is LevelDB. */

import { UsageError } from '../../process/option-values.ts';

/** Throws nothing away: the sentence leaves the choice to a person. */
export function damagedTables(place: string, damage: string): UsageError {
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
