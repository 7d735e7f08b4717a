/**
 * Decides the mutants of a plan in one process: the tests are loaded once, and each mutant is switched on while the tests that run its
 * code run again. Code that runs while a module is loaded is decided last, with every module loaded anew.
 */

import type { TestRunner } from 'vitest';
import { baselinesOf, type FileBaseline } from './baseline.ts';
import { append, idsOf, readJournal, unfinishedCounts, verdictsOf } from './journal.ts';
import { MutantProcess } from './mutant-process.ts';
import type { Plan } from './plan.ts';

/** A mutant that ends the process twice is noticed: the process of a test would have ended, too. */
const ENDED_PROCESSES_MAX = 2;

/** Rejects when a test is red without a mutant, at first or because a mutant has left something behind. */
export async function decideMutants(runner: TestRunner, plan: Plan): Promise<void> {
  const { journalFile, mutantIds, patienceMs } = plan;
  const files = await baselinesOf(runner, plan);
  const entries = readJournal(journalFile);
  if (entries.length === 0) noteUnrepeatable(journalFile, files);

  const verdicts = verdictsOf(entries);
  const endedProcesses = unfinishedCounts(entries);
  const doubted = idsOf(entries, 'doubted');
  const process = new MutantProcess({ runner, files, journalFile, patienceMs, doubted });
  const open = mutantIds.filter((id) => !verdicts.has(id));
  const endsProcesses = (id: string) => (endedProcesses.get(id) ?? 0) >= ENDED_PROCESSES_MAX;
  for (const id of open.filter(endsProcesses)) process.decide(id, 'Timeout', 'the process ended');

  // A doubted mutant comes first in its process, where no other mutant has left anything behind.
  const inOrder = open
    .filter((id) => !endsProcesses(id))
    .toSorted((a, b) => Number(doubted.has(b)) - Number(doubted.has(a)));
  const loading = new Set(idsOf(entries, 'loading'));
  for (const id of inOrder.filter((each) => !loading.has(each)))
    if (await process.decideWhileRunning(id)) loading.add(id);
  for (const id of inOrder.filter((each) => loading.has(each))) await process.decideWhileLoading(id);
}

function noteUnrepeatable(journalFile: string, files: readonly FileBaseline[]): void {
  for (const test of files.flatMap(({ unrepeatable }) => unrepeatable))
    append(journalFile, { step: 'unrepeatable', test });
}
