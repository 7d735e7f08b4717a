/** Decides every mutant of some files: starts the processes of the engine, and starts them again when a mutant ends them. */

import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type MutantOutcome, outcomeOf } from '../mutant-outcome.ts';
import { type InstrumentedCode, instrument } from './instrument.ts';
import { type JournalEntry, readJournal, verdictsOf } from './journal.ts';
import { type Plan, writePlan } from './plan.ts';
import { runProcess } from './processes.ts';
import { deleteFolder, openWorkFolder, readJournals } from './work-folder.ts';

export interface EngineOptions {
  readonly testFiles: readonly string[];
  readonly processCount: number;
  /** The engine keeps its verdicts here until it has decided every mutant. */
  readonly workFolder: string;
  /** An attempt may use this much more time of a processor than its tests usually take twenty times. */
  readonly patienceMs: number;
  /** Is called when the work begins, and returns what is called when it ends. */
  readonly report: (mutantCount: number, read: () => readonly JournalEntry[]) => () => void;
}

export interface EngineResult {
  readonly outcomes: readonly MutantOutcome[];
  /** These tests are red when they run again, so no mutant was put to them. */
  readonly unrepeatable: readonly string[];
}

/** A process that ends this often without having found out anything is broken, and not by a mutant. */
const IDLE_ENDS_MAX = 3;

/** Repeats the verdicts of a run that was interrupted, when no code and no test has changed since. */
export async function runEngine(files: readonly string[], options: EngineOptions): Promise<EngineResult> {
  const instrumented = await instrument(files);
  const folder = openWorkFolder(options.workFolder, files, options.testFiles);
  writeFileSync(join(folder, 'code.json'), JSON.stringify(instrumented.code));
  const ended = options.report(instrumented.mutants.length, () => readJournals(folder));
  try {
    await Promise.all(plansOf(instrumented, folder, options).map(runUntilDecided));
  } finally {
    ended();
  }
  const entries = readJournals(folder);
  const outcomes = outcomesOf(instrumented, entries);
  deleteFolder(folder);
  const unrepeatable = entries.flatMap((entry) => (entry.step === 'unrepeatable' ? [entry.test] : []));
  return { outcomes, unrepeatable: [...new Set(unrepeatable)] };
}

/** Shares the mutants that are not decided yet among the processes. */
function plansOf(
  { mutants }: InstrumentedCode,
  folder: string,
  { testFiles, processCount, patienceMs }: EngineOptions,
): readonly Plan[] {
  const decided = verdictsOf(readJournals(folder));
  const open = mutants.map(({ id }) => id).filter((id) => !decided.has(id));
  const earlierCount = readdirSync(folder).length;
  return Array.from({ length: processCount }, (_, place) => ({
    codeFile: resolve(folder, 'code.json'),
    mutantIds: open.filter((_id, index) => index % processCount === place),
    testFiles: testFiles.map((file) => resolve(file)),
    journalFile: resolve(folder, `${earlierCount + place}.jsonl`),
    baselineFile: resolve(folder, `${earlierCount + place}.baseline.json`),
    patienceMs,
  })).filter(({ mutantIds }) => mutantIds.length > 0);
}

async function runUntilDecided(plan: Plan): Promise<void> {
  const planFile = plan.journalFile.replace('.jsonl', '.plan.json');
  writePlan(planFile, plan);
  let idleEnds = 0;
  for (;;) {
    const before = readJournal(plan.journalFile).length;
    const output = await runProcess(planFile);
    const entries = readJournal(plan.journalFile);
    if (verdictsOf(entries).size === plan.mutantIds.length) return;
    idleEnds = entries.length === before ? idleEnds + 1 : 0;
    if (idleEnds === IDLE_ENDS_MAX) throw new Error(`The tests cannot be run:\n${output}`);
  }
}

function outcomesOf({ mutants, texts }: InstrumentedCode, entries: readonly JournalEntry[]) {
  const verdicts = verdictsOf(entries);
  return mutants.map((mutant) => {
    const verdict = verdicts.get(mutant.id);
    if (verdict === undefined) throw new Error(`Mutant ${mutant.id} of ${mutant.fileName} was not decided`);
    return outcomeOf(mutant, texts[mutant.fileName] ?? '', verdict);
  });
}
