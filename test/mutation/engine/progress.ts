/** Prints how far a run of mutants is: in place on a terminal, a line every half minute elsewhere. */

import { type JournalEntry, verdictsOf } from './journal.ts';

const [TERMINAL_EVERY_MS, LINE_EVERY_MS] = [1_000, 30_000];

/** Returns the function that ends the reports. */
export function reportProgress(count: number, read: () => readonly JournalEntry[]): () => void {
  const beganMs = performance.now();
  const { isTTY } = process.stdout;
  const print = () => {
    const verdicts = [...verdictsOf(read()).values()];
    const survivors = verdicts.filter((verdict) => verdict === 'Survived' || verdict === 'NoCoverage').length;
    const seconds = Math.round((performance.now() - beganMs) / 1000);
    const line = `${verdicts.length} of ${count} mutants, ${survivors} not noticed, ${seconds} s`;
    process.stdout.write(isTTY ? `\r${line}` : `${line}\n`);
  };
  const timer = setInterval(print, isTTY ? TERMINAL_EVERY_MS : LINE_EVERY_MS);
  return () => {
    clearInterval(timer);
    print();
    if (isTTY) process.stdout.write('\n');
  };
}
