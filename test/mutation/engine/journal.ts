/**
 * Keeps what a process of the engine has found out, one line per step, so that nothing is lost when a mutant ends the
 * process.
 */

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Verdict } from '../mutant-outcome.ts';

export type JournalEntry =
  | { readonly step: 'begun'; readonly id: string }
  /** The mutant survived with its code switched while the tests ran, and code that runs at loading time is still to come. */
  | { readonly step: 'loading'; readonly id: string }
  /** The tests were red without the mutant, too, so the process no longer says anything about mutants. */
  | { readonly step: 'doubted'; readonly id: string }
  | { readonly step: 'decided'; readonly id: string; readonly verdict: Verdict; readonly why: string }
  /** A test that is red when it runs again is not asked. */
  | { readonly step: 'unrepeatable'; readonly test: string };

export function append(file: string, entry: JournalEntry): void {
  appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** Leaves out the last line when the end of the process cut it. */
export function readJournal(file: string): readonly JournalEntry[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.slice(0, -1).map((line) => JSON.parse(line) as JournalEntry);
}

export function verdictsOf(entries: readonly JournalEntry[]): ReadonlyMap<string, Verdict> {
  return new Map(
    entries.flatMap((entry) => (entry.step === 'decided' ? [[entry.id, entry.verdict] as const] : [])),
  );
}

/** Counts how often the process ended while it worked at each mutant. */
export function crashesOf(entries: readonly JournalEntry[]): ReadonlyMap<string, number> {
  const crashes = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    if (entry.step !== 'begun') continue;
    const next = entries[index + 1];
    const isFinished = next !== undefined && next.step !== 'begun' && next.step !== 'unrepeatable';
    if (!isFinished) crashes.set(entry.id, (crashes.get(entry.id) ?? 0) + 1);
  }
  return crashes;
}
