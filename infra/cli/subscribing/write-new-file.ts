/** Writes a file that does not exist yet, because one that exists can hold work that must not be lost. */

import { writeFileSync } from 'node:fs';
import { UsageError } from '../../process/option-values.ts';
import { codeOf } from '../../process/system-error.ts';

/** Throws `UsageError` when the file exists, or cannot be written. */
export function writeNewFile(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' });
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new UsageError(`--output is "${path}", which exists; remove it, or name another file.`, {
        cause: error,
      });
    throw new UsageError(
      `--output is "${path}", which cannot be written (${codeOf(error)}); name another file.`,
      {
        cause: error,
      },
    );
  }
}
