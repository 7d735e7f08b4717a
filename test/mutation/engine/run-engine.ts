/** Decides every mutant of some files: starts the processes of the engine, and starts them again when a mutant ends them. */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type MutantOutcome, outcomeOf, type Verdict } from '../mutant-outcome.ts';
import { type InstrumentedCode, instrument } from './instrument.ts';
import { type JournalEntry, readJournal, verdictsOf } from './journal.ts';
import { PLAN_VARIABLE, writePlan } from './plan.ts';
import { reportProgress } from './progress.ts';

export interface EngineOptions {
  /** This folder keeps the verdicts of an interrupted run. */
  readonly workFolder: string;
  readonly testFiles: readonly string[];
  readonly concurrency: number;
}

export interface EngineResult {
  readonly outcomes: readonly MutantOutcome[];
  /** These tests are red when they run again, so no mutant was put to them. */
  readonly unrepeatable: readonly string[];
}

/** A process that ends this often without one more verdict is broken, and not by a mutant. */
const IDLE_ENDS_MAX = 3;

/** Repeats the verdicts of a run that was interrupted, when no code and no test has changed since. */
export async function runEngine(
  files: readonly string[],
  { workFolder, testFiles, concurrency }: EngineOptions,
): Promise<EngineResult> {
  const instrumented = await instrument(files);
  const folder = join(workFolder, fingerprintOf(files, testFiles));
  for (const name of readFolders(workFolder))
    if (join(workFolder, name) !== folder) remove(join(workFolder, name));
  mkdirSync(folder, { recursive: true });
  const codeFile = resolve(folder, 'code.json');
  writeFileSync(codeFile, JSON.stringify(instrumented.code));
  const decided = verdictsOf(entriesIn(folder));
  const open = instrumented.mutants.map(({ id }) => id).filter((id) => !decided.has(id));
  if (decided.size > 0) console.log(`${decided.size} verdicts are those of the interrupted run`);

  const stop = reportProgress(instrumented.mutants.length, () => entriesIn(folder));
  const first = readdirSync(folder).length;
  const shares = Array.from({ length: concurrency }, (_, part) =>
    open.filter((_id, index) => index % concurrency === part),
  );
  try {
    await Promise.all(
      shares
        .filter((mutantIds) => mutantIds.length > 0)
        .map((mutantIds, part) => {
          const journalFile = resolve(folder, `${first + part}.jsonl`);
          const planFile = resolve(folder, `${first + part}.plan.json`);
          const plan = {
            codeFile,
            mutantIds,
            testFiles: testFiles.map((file) => resolve(file)),
            journalFile,
          };
          writePlan(planFile, plan);
          return runUntilDecided(planFile, journalFile, mutantIds.length);
        }),
    );
  } finally {
    stop();
  }
  const entries = entriesIn(folder);
  const outcomes = outcomesOf(instrumented, verdictsOf(entries));
  remove(folder);
  const unrepeatable = entries.flatMap((entry) => (entry.step === 'unrepeatable' ? [entry.test] : []));
  return { outcomes, unrepeatable: [...new Set(unrepeatable)] };
}

async function runUntilDecided(planFile: string, journalFile: string, count: number): Promise<void> {
  let idleEnds = 0;
  for (;;) {
    const before = readJournal(journalFile).length;
    const output = await runProcess(planFile);
    const entries = readJournal(journalFile);
    if (verdictsOf(entries).size === count) return;
    idleEnds = entries.length === before ? idleEnds + 1 : 0;
    if (idleEnds === IDLE_ENDS_MAX || output.includes('is red without a mutant')) throw new Error(output);
  }
}

const running = new Set<number>();

/** Each process leads a group of its own, so that all that it started ends with it. */
function runProcess(planFile: string): Promise<string> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/mutation/engine/vitest.config.ts'];
  const env = { ...process.env, [PLAN_VARIABLE]: planFile, NO_COLOR: '1', VITEST: undefined };
  const child = spawn(process.execPath, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-OUTPUT_MAX);
    });
  return new Promise((done, failed) => {
    child.on('error', failed);
    child.on('close', () => {
      if (pid !== undefined) running.delete(pid);
      done(output);
    });
  });
}

const OUTPUT_MAX = 20_000;

/** Ends every process of the engine at once. */
export function endProcesses(): void {
  for (const pid of running) process.kill(-pid, 'SIGKILL');
}

function outcomesOf({ mutants, texts }: InstrumentedCode, verdicts: ReadonlyMap<string, Verdict>) {
  return mutants.map((mutant) => {
    const verdict = verdicts.get(mutant.id);
    if (verdict === undefined) throw new Error(`Mutant ${mutant.id} of ${mutant.fileName} was not decided`);
    return outcomeOf(mutant, texts[mutant.fileName] ?? '', verdict);
  });
}

function entriesIn(folder: string): readonly JournalEntry[] {
  return globSync(join(folder, '*.jsonl')).flatMap(readJournal);
}

/** Changes with every file that a mutant or a test could read. */
function fingerprintOf(files: readonly string[], testFiles: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify([files, testFiles]));
  for (const file of globSync('{functions,infra,shared,test}/**/*.{ts,json}').toSorted())
    hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

function readFolders(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder);
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true });
}
