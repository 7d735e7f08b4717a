/** Measures the walks in the chains that were traced. */

import type { Chain, Step } from './trace-calls.ts';
import { LEFT_OUT, type Walk } from './walks.ts';

export interface WalkLength {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  /** Each is written as its file and its name. */
  readonly functions: readonly string[];
}

/** Returns one length for each chain that took the walk, the shortest first. */
export function walkLengths(walk: Walk, chains: readonly Chain[]): readonly WalkLength[] {
  return chains
    .filter(({ start }) => start === walk.start)
    .flatMap(({ steps }) => lengthOf(stepsOf(walk, steps)) ?? [])
    .toSorted((a, b) => a.files.length - b.files.length || a.functions.length - b.functions.length);
}

function stepsOf({ from, must, end }: Walk, steps: readonly Step[]): readonly Step[] {
  const find = (pattern: RegExp, after: number) =>
    after < 0 ? -1 : steps.findIndex(({ text }, at) => at >= after && pattern.test(text));
  const first = from.reduce((after, pattern) => find(pattern, after), 0);
  const last = find(end, find(must, first));
  return last < 0 ? [] : steps.slice(first, last);
}

function lengthOf(steps: readonly Step[]): WalkLength | undefined {
  if (steps.length === 0) return undefined;
  const entered = steps.filter(
    ({ file }) => file !== undefined && !LEFT_OUT.some((text) => file.includes(text)),
  );
  const files = unique(entered.map(({ file = '' }) => file));
  return {
    files,
    folders: unique(files.map((file) => file.slice(0, file.lastIndexOf('/')))),
    functions: unique(entered.map(({ text }) => text)),
  };
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
