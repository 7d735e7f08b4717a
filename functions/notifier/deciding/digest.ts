/**
 * Decides what the hourly digest of a channel says: how many failures ended before they woke people, of which actions,
 * and how that compares with the digest before.
 */

import type { Notice } from './notice.ts';

/** A channel gets at most one digest in this time. */
const DIGEST_MS = 3_600_000;

/** A digest names this many actions. The upstream has a few dozen; further ones are counted together. */
const ACTIONS_MAX = 15;

const OTHER_ACTIONS = 'other actions';

interface ActionCount {
  readonly operation_count: number;
  readonly attempt_count: number;
}

interface Healed {
  readonly since_ms: number;
  readonly by_action: Readonly<Record<string, ActionCount>>;
}

/** Returns the counts with these notices added. The operations of one call are distinct from those of every other call. */
export function countHealed(before: Healed | undefined, notices: readonly Notice[], nowMs: number): Healed {
  const byAction = new Map(Object.entries(before?.by_action ?? {}));
  for (const own of Map.groupBy(notices, ({ operation_id }) => operation_id).values()) {
    const action = actionIn(byAction, own[0]?.action);
    const { operation_count = 0, attempt_count = 0 } = byAction.get(action) ?? {};
    const attempts = Math.max(1, ...own.map(({ failures_count = 1 }) => failures_count));
    byAction.set(action, {
      operation_count: operation_count + 1,
      attempt_count: attempt_count + attempts,
    });
  }
  return { since_ms: before?.since_ms ?? nowMs, by_action: Object.fromEntries(byAction) };
}

function actionIn(known: ReadonlyMap<string, ActionCount>, action = 'unknown'): string {
  return known.has(action) || known.size < ACTIONS_MAX ? action : OTHER_ACTIONS;
}

/** Returns the digest that is due, and undefined when none is. The same counts give the same id. */
export function digestOf(
  healed: Healed | undefined,
  lastCount: number | undefined,
  nowMs: number,
): Notice | undefined {
  if (healed === undefined || (healed.since_ms + DIGEST_MS > nowMs && healed.since_ms <= nowMs))
    return undefined;
  return {
    id: `digest ${healed.since_ms}`,
    kind: 'digest',
    severity: 'info',
    account_id: 'bridge',
    observed_at: new Date(nowMs).toISOString(),
    since: new Date(healed.since_ms).toISOString(),
    healed: {
      operation_count: operationCountOf(healed),
      ...(lastCount !== undefined && { last_operation_count: lastCount }),
      by_action: Object.entries(healed.by_action)
        .map(([action, count]) => ({ action, ...count }))
        .toSorted((a, b) => b.operation_count - a.operation_count),
    },
  };
}

export function operationCountOf({ by_action }: Pick<Healed, 'by_action'>): number {
  return Object.values(by_action).reduce((sum, { operation_count }) => sum + operation_count, 0);
}
