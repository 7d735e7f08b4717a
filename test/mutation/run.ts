/**
 * Changes production code in one place at a time and asks the unit tests whether they notice.
 *
 *   npm run mutants                                        mutates everything, target by target
 *   npm run mutants -- shared/protocol                     mutates one folder, or several
 *   npm run mutants -- shared/records/journal.ts      mutates one file
 *   npm run mutants -- FILE --tests 'test/records/*.test.ts'   asks only these tests, for a quick look
 *   npm run mutants -- --with-seeds 30                     also puts what the tests miss to 30 seeds of each simulated world
 *   npm run mutants -- --concurrency 1                     leaves the second core to others
 *
 * The exit code is 1 when a target does not reach its bar or lacks a proof, and 2 when the run itself failed.
 */

import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { equivalents } from './equivalent.ts';
import { type Judgement, judge, scoreOf } from './judge.ts';
import type { MutantOutcome } from './mutant-outcome.ts';
import { HEAD, lineOf, printLeft, rowOf } from './print-judgement.ts';
import { isNoticedBySeeds } from './put-to-seeds.ts';
import { runStryker } from './stryker.ts';
import { type Target, targets } from './targets.ts';

const REPORTS = 'reports/mutation';

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'with-seeds': { type: 'string', default: '0' },
      tests: { type: 'string' },
      concurrency: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    },
  });
  let isGood = true;
  const rows: string[] = [];
  for (const target of targets) {
    const all = filesOf(target.globs);
    const files = all.filter(
      (file) => positionals.length === 0 || positionals.some((part) => isIn(file, part)),
    );
    if (files.length === 0) continue;
    console.log(`${target.name}: ${files.length} files`);
    const tests = values.tests === undefined ? target.tests : [values.tests];
    const outcomes = await runStryker(files, tests, Number(values.concurrency));
    const judged = judge(target.name, outcomes, equivalents);
    keep(target.name, outcomes);
    printLeft(judged);
    await putToSeeds(judged, Number(values['with-seeds']));
    const isWhole = files.length === all.length && values.tests === undefined;
    const total = `${rowOf(judged.total)}${isWhole ? `   bar ${target.bar} %` : ''}`;
    rows.push(...judged.folders.map(rowOf), total);
    isGood &&= isGoodEnough(target, judged, isWhole);
  }
  if (rows.length === 0) throw new Error(`Nothing is mutated in ${positionals.join(' ')}: see targets.ts`);
  console.log(`\n${HEAD}\n${rows.join('\n')}`);
  return isGood ? 0 : 1;
}

function filesOf(globs: readonly string[]): readonly string[] {
  const left = globs.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1));
  const exclude = new Set(left.flatMap((glob) => globSync(glob)));
  return globs
    .filter((glob) => !glob.startsWith('!'))
    .flatMap((glob) => globSync(glob))
    .filter((file) => !exclude.has(file))
    .toSorted();
}

function isIn(file: string, part: string): boolean {
  return file === part || file.startsWith(part.endsWith('/') ? part : `${part}/`);
}

function isGoodEnough(
  { bar, isProofNeeded }: Target,
  { total, left, staleProofs }: Judgement,
  isWhole: boolean,
) {
  if (staleProofs.length > 0) return false;
  if (isProofNeeded && left.length > 0) return false;
  return !isWhole || scoreOf(total) >= bar;
}

/** Keeps every outcome, so that survivors can be looked at after the run. */
function keep(name: string, outcomes: readonly MutantOutcome[]): void {
  mkdirSync(REPORTS, { recursive: true });
  writeFileSync(`${REPORTS}/${name}.json`, `${JSON.stringify(outcomes, undefined, 2)}\n`);
}

async function putToSeeds({ left }: Judgement, seedCount: number): Promise<void> {
  if (seedCount === 0) return;
  let noticedCount = 0;
  for (const mutant of left) {
    const isNoticed = await isNoticedBySeeds(mutant, seedCount);
    if (isNoticed) noticedCount++;
    console.log(`${isNoticed ? 'noticed by seeds' : 'not noticed by seeds'}: ${lineOf(mutant)}`);
  }
  console.log(`seeds noticed ${noticedCount} of ${left.length} that the tests did not`);
}

process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  return 2;
});
