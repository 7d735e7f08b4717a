/** Prepares the folder into which a release is built. */

import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../process/option-values.ts';

/** A release ends with this file, so a folder that has it is an earlier release. */
export const CHECKSUMS_FILE = 'SHA256SUMS';

/**
 * Empties the folder when an earlier release is in it, and creates it when it does not exist. Throws `UsageError` when it
 * has anything else, which must not be deleted.
 */
export function prepareOutputFolder(folder: string): void {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  if (names.length > 0 && !names.includes(CHECKSUMS_FILE))
    throw new UsageError(
      `${folder} has files that are not of a release (${names.slice(0, 3).join(', ')}). Name an empty folder.`,
    );
  for (const name of names) rmSync(join(folder, name), { recursive: true });
  mkdirSync(folder, { recursive: true });
}
