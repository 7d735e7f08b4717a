/** Judges the outcomes of mutants: which are noticed, which carry a proof, which are left, and which proofs are stale. */

import { dirname } from 'node:path';
import type { Equivalent } from './equivalent.ts';
import type { MutantOutcome } from './mutant-outcome.ts';

export interface Tally {
  readonly name: string;
  readonly count: number;
  readonly noticedCount: number;
  /** Counts the noticed mutants whose tests took too long. */
  readonly timedOutCount: number;
  readonly provenCount: number;
  readonly leftCount: number;
}

export interface Judgement {
  readonly folders: readonly Tally[];
  readonly total: Tally;
  /** These mutants are neither noticed nor proven equivalent. */
  readonly left: readonly MutantOutcome[];
  /** These proofs are of mutants that are noticed, or that do not exist. */
  readonly staleProofs: readonly Equivalent[];
}

export function judge(
  name: string,
  outcomes: readonly MutantOutcome[],
  equivalents: readonly Equivalent[],
): Judgement {
  const survivors = outcomes.filter(({ isNoticed }) => !isNoticed);
  const isProven = (mutant: MutantOutcome) => equivalents.some((proof) => isOf(proof, mutant));
  const left = survivors.filter((mutant) => !isProven(mutant));
  const files = new Set(outcomes.map(({ file }) => file));
  const staleProofs = equivalents.filter(
    (proof) => files.has(proof.file) && !survivors.some((mutant) => isOf(proof, mutant)),
  );
  const tallyOf = (group: string, some: readonly MutantOutcome[]): Tally => {
    const noticedCount = some.filter(({ isNoticed }) => isNoticed).length;
    const leftCount = left.filter((mutant) => some.includes(mutant)).length;
    const provenCount = some.length - noticedCount - leftCount;
    const timedOutCount = some.filter(({ isTimedOut }) => isTimedOut).length;
    return { name: group, count: some.length, noticedCount, timedOutCount, provenCount, leftCount };
  };
  const byFolder = Map.groupBy(outcomes, ({ file }) => dirname(file));
  return {
    folders: [...byFolder].map(([folder, some]) => tallyOf(folder, some)).toSorted(byName),
    total: tallyOf(name, outcomes),
    left: left.toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line),
    staleProofs,
  };
}

/**
 * Returns the share of all mutants that tests notice, in percent. A mutant that is proven equivalent counts as not
 * noticed.
 */
export function scoreOf({ count, noticedCount }: Tally): number {
  return count === 0 ? 100 : (100 * noticedCount) / count;
}

function isOf(proof: Equivalent, mutant: MutantOutcome): boolean {
  return (
    proof.file === mutant.file &&
    proof.line === mutant.lineText &&
    plain(proof.original) === plain(mutant.original) &&
    plain(proof.replacement) === plain(mutant.replacement)
  );
}

/** Returns the code with every run of white space replaced by one space. */
export function plain(code: string): string {
  return code.replaceAll(/\s+/g, ' ').trim();
}

function byName(a: Tally, b: Tally): number {
  return a.name.localeCompare(b.name);
}
