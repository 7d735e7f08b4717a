/** Writes files that only their user can read, because they hold tokens or say what a person works on. */

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Replaces the file in one step, so that a killed process leaves the old content or the new one. */
export function writePrivateFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const half = `${file}.${process.pid}.part`;
  writeFileSync(half, text, { mode: 0o600 });
  renameSync(half, file);
}
