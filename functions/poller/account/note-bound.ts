/** Says that a bound was met: once per invocation and bound, because a bound that is met is met again at once. */

import type { Run } from './run.ts';

/** Each has a row in docs/limits.md. */
export const BOUND_NAMES = ['projects', 'list_pages', 'barren_pages', 'delays_kept'] as const;

export type BoundName = (typeof BOUND_NAMES)[number];

export function noteBound(
  { deps, memory }: Pick<Run, 'deps' | 'memory'>,
  bound: BoundName,
  value: number,
): void {
  if (memory.boundsMet.has(bound)) return;
  memory.boundsMet.add(bound);
  deps.telemetry.measure('BoundMet', 1);
  deps.telemetry.log('warn', 'bound.met', { bound, value });
}
