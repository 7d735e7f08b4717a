/** Describes one change of production code and whether the tests noticed it. */

import { relative } from 'node:path';

export interface MutantOutcome {
  /** The path begins at the root of the project. */
  readonly file: string;
  /** The first line has number 1. */
  readonly line: number;
  /** This is the whole line on which the mutant begins, without its indentation. */
  readonly lineText: string;
  readonly original: string;
  readonly replacement: string;
  /** The mutated code begins at this offset in the text of the file, in UTF-16 units. `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  readonly isNoticed: boolean;
  /** The tests took longer than the limit, so the mutant counts as noticed: it runs for ever, or the machine was busy. */
  readonly isTimedOut: boolean;
  /** No test runs this code. */
  readonly isUncovered: boolean;
}

/** These are StrykerJS's words for the end of a mutant. */
export type Verdict = 'Killed' | 'Timeout' | 'RuntimeError' | 'Survived' | 'NoCoverage';

interface Place {
  readonly line: number;
  readonly column: number;
}

/** Describes a change as StrykerJS does; the first line and the first column have number 1. */
export interface Change {
  readonly fileName: string;
  readonly location: { readonly start: Place; readonly end: Place };
  readonly replacement?: string;
}

export function outcomeOf(
  { fileName, location, replacement = '' }: Change,
  text: string,
  verdict: Verdict,
): MutantOutcome {
  const [from, to] = [offsetOf(text, location.start), offsetOf(text, location.end)];
  return {
    file: relative(process.cwd(), fileName),
    line: location.start.line,
    lineText: (text.split('\n')[location.start.line - 1] ?? '').trim(),
    original: text.slice(from, to),
    replacement,
    from,
    to,
    isNoticed: verdict === 'Killed' || verdict === 'Timeout' || verdict === 'RuntimeError',
    isTimedOut: verdict === 'Timeout',
    isUncovered: verdict === 'NoCoverage',
  };
}

function offsetOf(text: string, { line, column }: Place): number {
  let start = 0;
  for (let count = 1; count < line; count++) start = text.indexOf('\n', start) + 1;
  return start + column - 1;
}
