/** Says that a bound was met: once per invocation and bound, because a bound that is met is met again at once. */

import type { Run } from './run.ts';

/** Each has a row in docs/limits.md. */
export type BoundName =
  | 'projects'
  | 'list_pages'
  | 'barren_pages'
  | 'work_places'
  | 'backlog_looked_at'
  | 'delays_kept';

export function noteBound(
  { deps, boundsMet }: Pick<Run, 'deps' | 'boundsMet'>,
  bound: BoundName,
  value: number,
): void {
  if (boundsMet.has(bound)) return;
  boundsMet.add(bound);
  deps.telemetry.measure('BoundMet', 1);
  deps.telemetry.log('warn', 'bound.met', { bound, value });
}
