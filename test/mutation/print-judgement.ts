/** Prints what a run of mutants has found: the survivors one by one, and a table by folder. */

import { type Judgement, plain, scoreOf, type Tally } from './judge.ts';
import type { MutantOutcome } from './mutant-outcome.ts';

const CODE_COLUMNS = 100;
const NAME_COLUMNS = 34;
const COUNT_COLUMNS = 9;

export const HEAD = rowOfCells(['folder', 'mutants', 'noticed', 'late', 'proven', 'left', 'score']);

export function printLeft({ left, staleProofs }: Judgement): void {
  for (const mutant of left) console.log(lineOf(mutant));
  for (const { file, line, original, replacement } of staleProofs)
    console.log(`stale proof: ${file}: ${original} → ${replacement} in "${line}" does not survive`);
}

export function lineOf({ file, line, original, replacement, isUncovered }: MutantOutcome): string {
  const short = (code: string) => plain(code).slice(0, CODE_COLUMNS);
  return `${file}:${line} ${short(original)} → ${short(replacement)}${isUncovered ? ' (no test runs it)' : ''}`;
}

export function rowOf(tally: Tally): string {
  const { name, count, noticedCount, timedOutCount, provenCount, leftCount } = tally;
  const score = `${scoreOf(tally).toFixed(1)} %`;
  return rowOfCells([name, count, noticedCount, timedOutCount, provenCount, leftCount, score]);
}

function rowOfCells([name, ...cells]: readonly (string | number)[]): string {
  return [
    String(name).padEnd(NAME_COLUMNS),
    ...cells.map((cell) => String(cell).padStart(COUNT_COLUMNS)),
  ].join('');
}
