/** Writes small files once and reads them at every start. They are whole or absent, also after a crash. */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';

/** Only its owner can read the file, because it is kept beside a key. */
const MODE = 0o600;

/** Returns the content of the file, which is written first when there is none. */
export function keptText(path: string, firstText: () => string): string {
  if (!existsSync(path)) writeWhole(path, firstText());
  return readFileSync(path, 'utf8');
}

/** Writes under another name and renames, so that no reader sees a part of the file. */
function writeWhole(path: string, text: string): void {
  const draft = `${path}.draft`;
  const file = openSync(draft, 'w', MODE);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}
