/** Prints how far a run of mutants is: in place on a terminal, a line every half minute elsewhere. */

import { type JournalEntry, verdictsOf } from './journal.ts';

const TERMINAL_EVERY_MS = 1_000;
const LINE_EVERY_MS = 30_000;

/** Returns the function that ends the reports. */
export function reportProgress(mutantCount: number, read: () => readonly JournalEntry[]): () => void {
  const { isTTY } = process.stdout;
  const earlierCount = verdictsOf(read()).size;
  if (earlierCount > 0) console.log(`${earlierCount} verdicts are those of the interrupted run.`);
  const beganMs = performance.now();
  const print = () => {
    const verdicts = [...verdictsOf(read()).values()];
    const survivors = verdicts.filter((verdict) => verdict === 'Survived' || verdict === 'NoCoverage');
    const seconds = Math.round((performance.now() - beganMs) / 1000);
    const line = `${verdicts.length} of ${mutantCount} mutants, ${survivors.length} not noticed, ${seconds} s`;
    process.stdout.write(isTTY ? `\r${line}` : `${line}\n`);
  };
  const timer = setInterval(print, isTTY ? TERMINAL_EVERY_MS : LINE_EVERY_MS);
  return () => {
    clearInterval(timer);
    print();
    if (isTTY) process.stdout.write('\n');
  };
}
