/** Appends whole lines to a file. What a crash or a full disk left half-written never swallows the next line. */

import { appendFileSync, closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { reasonOf } from '../../process/system-error.ts';

export interface LineFile {
  /** Throws the system's error when the line is not in the file afterwards. */
  append(line: string): void;
}

export interface LineFileOptions {
  /** Gets one sentence when lines cannot be written any more, and one when they can again. */
  readonly say: (sentence: string) => void;
  /** The sentence says what an unwritten line means. */
  readonly whenFull: string;
  readonly write?: (path: string, text: string) => void;
}

const NEWLINE = '\n';

export function openLineFile(path: string, options: LineFileOptions): LineFile {
  const { say, whenFull, write = appendFileSync } = options;
  let isTorn = !endsWithLine(path);
  let isFailing = false;
  if (isTorn)
    say(`${path} ended in the middle of a line (a crash or a full disk); that line is ended there.`);

  return {
    append(line) {
      try {
        write(path, `${isTorn ? NEWLINE : ''}${line}${NEWLINE}`);
      } catch (error) {
        if (!isFailing) say(`${path} cannot be written (${reasonOf(error)}); ${whenFull}`);
        isFailing = true;
        isTorn = !endsWithLine(path);
        throw error;
      }
      if (isFailing) say(`${path} can be written again.`);
      isFailing = false;
      isTorn = false;
    },
  };
}

/** Returns true also for a file that does not exist yet or is empty. */
function endsWithLine(path: string): boolean {
  // Only its owner can read the file, because its lines are about an account.
  const file = openSync(path, 'a+', 0o600);
  try {
    const sizeBytes = fstatSync(file).size;
    if (sizeBytes === 0) return true;
    const last = Buffer.alloc(1);
    readSync(file, last, 0, 1, sizeBytes - 1);
    return last.toString() === NEWLINE;
  } finally {
    closeSync(file);
  }
}
