/** Says that a bound was met: once per invocation and bound, because a bound that is met is met again at once. */

import type { AccountDeps, AccountMemory } from './run.ts';

/** Each has a row in docs/limits.md. */
export type BoundName =
  | 'projects'
  | 'list_pages'
  | 'barren_pages'
  | 'work_places'
  | 'backlog_looked_at'
  | 'delays_kept';

type BoundMemory = Pick<AccountMemory, 'boundsMet'>;

export function noteBound(
  { deps, memory }: { readonly deps: Pick<AccountDeps, 'telemetry'>; readonly memory: BoundMemory },
  bound: BoundName,
  value: number,
): void {
  if (memory.boundsMet.has(bound)) return;
  memory.boundsMet.add(bound);
  deps.telemetry.measure('BoundMet', 1);
  deps.telemetry.log('warn', 'bound.met', { bound, value });
}
