/** Lists the checksums of released files, in the form that `sha256sum --check` reads. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** Returns one line per file of the folder and the folders in it, in the order of their names. */
export function checksumsOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  const lines = files.map((file) => {
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    return `${hash}  ${relative(folder, file).split(sep).join('/')}\n`;
  });
  return lines.toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join('');
}
