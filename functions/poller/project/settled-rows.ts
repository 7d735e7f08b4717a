/**
 * Remembers which settled operations were seen in which state. One number stands for each, so that a page of them for
 * thousands of projects fits into the memory of a small function. A changed row is taken for an unchanged one only if
 * two of 2^53 numbers are equal, and the table still has the operation itself.
 */

import type { OperationState } from '../../../shared/core/records/transition.ts';

export interface SettledRows {
  /** There is one number for each row, and they are sorted. */
  readonly prints: Float64Array;
  has(id: string, state: OperationState): boolean;
}

const NONE = new Float64Array(0);

export const NO_SETTLED_ROWS: SettledRows = settledRowsOf(new Map());

export function settledRowsOf(states: ReadonlyMap<string, OperationState>): SettledRows {
  if (states.size === 0) return among(NONE);
  const prints = new Float64Array(states.size);
  let index = 0;
  for (const [id, state] of states) prints[index++] = fingerprint(id, state);
  return among(prints.toSorted());
}

/**
 * At most this many rows of one project are kept while a walk takes several polls, at 8 bytes each. Further rows are
 * read again.
 */
export const JOINED_ROWS_MAX = 50_000;

/** Returns the rows of both, or only those of the latest poll when together they are more than `JOINED_ROWS_MAX`. */
export function joinSettledRows(latest: SettledRows, earlier: SettledRows): SettledRows {
  const prints = new Set([...latest.prints, ...earlier.prints]);
  return prints.size > JOINED_ROWS_MAX ? latest : among(Float64Array.from(prints).toSorted());
}

function among(sorted: Float64Array): SettledRows {
  return {
    prints: sorted,
    has(id, state) {
      const wanted = fingerprint(id, state);
      let low = 0;
      let high = sorted.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((sorted[middle] ?? 0) < wanted) low = middle + 1;
        else high = middle;
      }
      return sorted[low] === wanted;
    },
  };
}

/** Returns 53 bits of two multiplicative hashes, each of which is mixed at the end as in MurmurHash3. */
function fingerprint(id: string, { status, failures_count }: OperationState): number {
  const text = `${id} ${status} ${failures_count}`;
  let first = 0x9e37_79b9;
  let second = 0x85eb_ca6b;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    first = Math.imul(first ^ unit, 0x0100_0193);
    second = Math.imul(second ^ unit, 0x5bd1_e995) ^ (second >>> 15);
  }
  const HIGH_BITS = 21;
  return (stir(first) >>> (32 - HIGH_BITS)) * 2 ** 32 + (stir(second) >>> 0);
}

function stir(bits: number): number {
  let mixed = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return mixed ^ (mixed >>> 16);
}
