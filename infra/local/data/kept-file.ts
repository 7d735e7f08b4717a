/** Small files that are written once and read at every start: whole or not at all, also after a crash. */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';

/** Readable by its owner alone: what a person keeps beside a key is nobody else's. */
const MODE = 0o600;

/** The content of the file; it is written first if there is none. */
export function keptText(path: string, firstText: () => string): string {
  if (!existsSync(path)) writeWhole(path, firstText());
  return readFileSync(path, 'utf8');
}

/** Under another name first: whoever sees the file sees all of it. */
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
