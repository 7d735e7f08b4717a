/** Keeps the files of one run of the engine, from which an interrupted run goes on. */

import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type JournalEntry, readJournal } from './journal.ts';

/** Every file that a mutant or a test could read. */
const SOURCES = '{functions,infra,shared,test}/**/*.{ts,json}';

/**
 * Returns the folder of a run over these files and tests. What a run over other code has left in `parent` is deleted,
 * because its verdicts no longer say anything.
 */
export function openWorkFolder(
  parent: string,
  files: readonly string[],
  testFiles: readonly string[],
): string {
  const hash = createHash('sha256').update(JSON.stringify([files, testFiles]));
  for (const file of globSync(SOURCES).toSorted()) hash.update(readFileSync(file));
  const name = hash.digest('hex').slice(0, 16);
  mkdirSync(parent, { recursive: true });
  for (const other of readdirSync(parent).filter((each) => each !== name)) deleteFolder(join(parent, other));
  mkdirSync(join(parent, name), { recursive: true });
  return join(parent, name);
}

export function deleteFolder(folder: string): void {
  rmSync(folder, { recursive: true });
}

/** Returns what all processes of the run have found out. */
export function readJournals(folder: string): readonly JournalEntry[] {
  return globSync(join(folder, '*.jsonl')).flatMap(readJournal);
}
