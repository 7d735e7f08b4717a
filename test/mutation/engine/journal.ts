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

export function idsOf(entries: readonly JournalEntry[], step: 'loading' | 'doubted'): ReadonlySet<string> {
  return new Set(entries.flatMap((entry) => (entry.step === step ? [entry.id] : [])));
}

/** Counts how often each mutant was begun in a process that ended before it said more. */
export function unfinishedCounts(entries: readonly JournalEntry[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const next = entries[index + 1];
    if (entry.step !== 'begun' || (next !== undefined && next.step !== 'begun')) continue;
    counts.set(entry.id, (counts.get(entry.id) ?? 0) + 1);
  }
  return counts;
}
