/** Packs the bundle of a function as Lambda takes it, with the same bytes each time. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { zipSync } from 'fflate';

/** The first day that a zip file can name; the library reads it by the machine's own calendar, which the file holds. */
const NO_TIME = new Date(1980, 0, 1);

const UNIX = 3;
/** Lambda runs the code as another user, who must be able to read it. */
const READABLE_FILE = 0o100644 << 16;

/** Takes a folder that has files and no folders. */
export function codeZip(folder: string): Uint8Array {
  const files = readdirSync(folder).toSorted();
  return zipSync(
    Object.fromEntries(files.map((name) => [name, new Uint8Array(readFileSync(join(folder, name)))])),
    { mtime: NO_TIME, os: UNIX, attrs: READABLE_FILE, level: 9 },
  );
}
