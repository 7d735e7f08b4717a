/** Is not mutated by the test of the engine. */

/** No count of rounds is ever this limit. */
export const ENDLESS = -1;

export function countRounds(limit: number): number {
  let rounds = 0;
  while (rounds !== limit) rounds++;
  return rounds;
}
