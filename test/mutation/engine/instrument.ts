/** Puts every mutant of some files behind a switch, with StrykerJS's mutators. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import type { Change } from '../mutant-outcome.ts';

interface Mutant extends Change {
  readonly id: string;
}

export interface InstrumentedCode {
  /** Holds the code with its switches, by the absolute path of the file. */
  readonly code: Readonly<Record<string, string>>;
  /** Holds the code as it stands on the disk, by the absolute path of the file. */
  readonly texts: Readonly<Record<string, string>>;
  readonly mutants: readonly Mutant[];
}

/**
 * The switches and the counters of coverage are in `globalThis.__stryker__`: the mutant whose id is `activeMutant` is
 * the code that runs.
 */
export async function instrument(files: readonly string[]): Promise<InstrumentedCode> {
  const texts = Object.fromEntries(files.map((file) => [resolve(file), readFileSync(file, 'utf8')]));
  const sources = Object.entries(texts).map(([name, content]) => ({ name, content, mutate: true }));
  const settings = { plugins: null, excludedMutations: [], ignorers: [] };
  const result = await new Instrumenter(SILENT_LOG).instrument(sources, settings);
  return {
    code: Object.fromEntries(result.files.map(({ name, content }) => [name, content])),
    texts,
    mutants: result.mutants.map(({ id, fileName, location, replacement }) => ({
      id,
      fileName,
      location: { start: countedFromOne(location.start), end: countedFromOne(location.end) },
      replacement,
    })),
  };
}

/** The instrumenter counts lines and columns from 0. */
function countedFromOne({ line, column }: { line: number; column: number }) {
  return { line: line + 1, column: column + 1 };
}

const ignore = () => {};

const SILENT_LOG: ConstructorParameters<typeof Instrumenter>[0] = {
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  fatal: ignore,
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
};
