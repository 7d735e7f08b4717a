/** Makes a conditional write whose writer must not take the own write for somebody else's. */

import type { Table, Update } from './table.ts';

/**
 * The SDK repeats a write whose reply was lost, and the first attempt, which was made, refuses the repetition. So a write
 * that was refused, or that got no answer, looks at the item: it was made when the item has what it sets under `names`,
 * which no other write sets so. Rejects when it is unknown whether the write was made.
 */
export async function updateOnce(
  table: Table,
  update: Update,
  names: readonly string[],
): Promise<'applied' | 'refused'> {
  const outcome = await table.update(update).catch((error: unknown) => ({ error }));
  if (outcome === 'applied') return outcome;
  const item = await table.get(update.key);
  if (names.every((name) => item?.[name] === update.set[name])) return 'applied';
  if (outcome === 'refused') return outcome;
  throw outcome.error;
}
