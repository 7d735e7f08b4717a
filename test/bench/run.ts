/**
 * `npm run bench` measures how soon a transition is detected, and compares it with the theoretical bound, with other
 * ways to poll, and with the goals.
 */

import { writeFileSync } from 'node:fs';
import { largeGoals } from './large/large-figures.ts';
import { measureLarge } from './large/measure-large.ts';
import type { Figures } from './measure.ts';
import { type BenchOptions, HELP, type LargeAccount, parseBenchOptions } from './report/bench-options.ts';
import { measureRows } from './report/measure-rows.ts';
import { goalsOf, isMet } from './report/performance-page.ts';
import { delayPlot } from './report/plot.ts';
import { recordFigures } from './report/record-figures.ts';
import { tableHead, tableLine } from './report/table.ts';
import { RANGES } from './world/drawn-world.ts';

async function main({ large, rows, isStandard, json, record, svg }: BenchOptions): Promise<void> {
  if (large !== undefined) return measureAndPrintLarge(large, json);
  if (!json) console.log(tableHead);
  const figures = await measureRows(rows, {
    onFigures: (each) => console.log(json ? JSON.stringify(each) : tableLine(each)),
    onProgress,
  });
  if (isStandard && !json) printJudgement(figures);
  if (svg !== undefined) writeFileSync(svg, delayPlot(figures));
  if (record) console.error(`Wrote ${recordFigures(figures, new Date())} and docs/performance.md.`);
}

async function measureAndPrintLarge(
  { projects, requestsPerMinute }: LargeAccount,
  json: boolean,
): Promise<void> {
  onProgress(`an account of ${projects} projects: a cold start, and then polls; this takes minutes`);
  const figures = await measureLarge(projects, requestsPerMinute);
  if (json) return console.log(JSON.stringify(figures));
  for (const { text, measured, isMet: met } of largeGoals(figures))
    console.log(`${met ? 'met   ' : 'MISSED'} ${text}: ${measured}`);
}

function printJudgement(figures: readonly Figures[]): void {
  console.log('\nranges of the drawn worlds');
  for (const [quantity, { min, max, scale }] of Object.entries(RANGES))
    console.log(`  ${quantity.padEnd(30)} ${min} to ${max}, ${scale}`);
  console.log('\ngoals');
  for (const goal of goalsOf(figures)) {
    const measured =
      goal.measured === undefined ? 'not measured' : `${goal.measured.toFixed(2)} ${goal.unit}`;
    console.log(`  ${isMet(goal) ? 'met   ' : 'MISSED'} ${goal.text}: ${measured}, at most ${goal.max}`);
  }
}

/** Overwrites the last report in a terminal, and prints a line for each report elsewhere. */
function onProgress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}\r` : `${text}\n`);
}

try {
  const options = parseBenchOptions(process.argv.slice(2));
  if (options === undefined) console.log(HELP);
  else await main(options);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
