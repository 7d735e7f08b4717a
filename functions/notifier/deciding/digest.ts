/**
 * Decides what the hourly digest of a channel says: how many failures ended before they woke people, of which actions,
 * how that compares with the digest before, and how many alerts were held back because people wanted that.
 */

import type { Notice } from './notice.ts';
import { isByWrongClock } from './waking.ts';

/** A channel gets at most one digest in this time. */
const DIGEST_MS = 3_600_000;

/** A digest names this many actions. The upstream has a few dozen; further ones are counted together. */
const ACTIONS_MAX = 15;

const OTHER_ACTIONS = 'other actions';

interface ActionCount {
  readonly operation_count: number;
  readonly attempt_count: number;
}

interface Counted {
  readonly since_ms: number;
  readonly by_action: Readonly<Record<string, ActionCount>>;
  /** These alerts were not sent, because a person had acknowledged what they are about. */
  readonly acknowledged_count?: number | undefined;
}

/** An alert that waits because it is muted. */
export interface MutedAlert {
  readonly incident: string;
  readonly stored_at_ms: number;
  /** The mute ends at this time. */
  readonly until_ms: number;
}

const WITHOUT_FAILURE: ReadonlySet<Notice['kind']> = new Set(['stalled', 'stall_ended', 'project_gone']);

/**
 * Returns the counts with these notices added. The operations of one call are distinct from those of every other call.
 * One that only took long has no failed attempt to count.
 */
export function countHealed(
  before: Counted | undefined,
  notices: readonly Notice[],
  nowMs: number,
): Counted | undefined {
  const byAction = new Map(Object.entries(before?.by_action ?? {}));
  const failed = notices.filter(({ kind }) => !WITHOUT_FAILURE.has(kind));
  if (failed.length === 0) return before;
  for (const own of Map.groupBy(failed, ({ operation_id }) => operation_id).values()) {
    const action = actionIn(byAction, own[0]?.action);
    const { operation_count = 0, attempt_count = 0 } = byAction.get(action) ?? {};
    const attempts = Math.max(1, ...own.map(({ failures_count = 1 }) => failures_count));
    byAction.set(action, {
      operation_count: operation_count + 1,
      attempt_count: attempt_count + attempts,
    });
  }
  return { ...countedBefore(before, nowMs), by_action: Object.fromEntries(byAction) };
}

/** Returns the counts with this many alerts added that an acknowledgement held back. */
export function countAcknowledged(before: Counted | undefined, alertCount: number, nowMs: number): Counted {
  const counted = countedBefore(before, nowMs);
  return { ...counted, acknowledged_count: (counted.acknowledged_count ?? 0) + alertCount };
}

function countedBefore(before: Counted | undefined, nowMs: number): Counted {
  return before ?? { since_ms: nowMs, by_action: {} };
}

function actionIn(known: ReadonlyMap<string, ActionCount>, action = 'unknown'): string {
  return known.has(action) || known.size < ACTIONS_MAX ? action : OTHER_ACTIONS;
}

export interface Digestible {
  readonly healed: Counted | undefined;
  /** These alerts are muted now, and stand in no digest yet. */
  readonly muted: readonly MutedAlert[];
  /** The digest before had this many operations. It is undefined when there was none. */
  readonly lastCount: number | undefined;
}

/** Returns the digest that is due, and undefined when none is. The same counts give the same id. */
export function digestOf({ healed, muted, lastCount }: Digestible, nowMs: number): Notice | undefined {
  const begins = [
    ...(healed === undefined ? [] : [healed.since_ms]),
    ...muted.map((one) => one.stored_at_ms),
  ];
  const isDue = (sinceMs: number) => sinceMs + DIGEST_MS <= nowMs || isByWrongClock(sinceMs, nowMs);
  if (!begins.some(isDue)) return undefined;
  const sinceMs = Math.min(...begins);
  const byAction = Object.entries(healed?.by_action ?? {});
  const heldBack = heldBackOf(healed, muted);
  return {
    id: `digest ${sinceMs}`,
    kind: 'digest',
    severity: 'info',
    account_id: 'bridge',
    observed_at: new Date(nowMs).toISOString(),
    since: new Date(sinceMs).toISOString(),
    healed: {
      operation_count: operationCountOf(healed),
      ...(lastCount !== undefined && { last_operation_count: lastCount }),
      by_action: byAction
        .map(([action, count]) => ({ action, ...count }))
        .toSorted((a, b) => b.operation_count - a.operation_count),
    },
    ...(heldBack && { held_back: heldBack }),
  };
}

function heldBackOf(healed: Counted | undefined, muted: readonly MutedAlert[]): Notice['held_back'] {
  const acknowledged_count = healed?.acknowledged_count ?? 0;
  if (muted.length === 0) return acknowledged_count === 0 ? undefined : { acknowledged_count };
  const firstEndMs = Math.min(...muted.map(({ until_ms }) => until_ms));
  return {
    acknowledged_count,
    muted: {
      alert_count: muted.length,
      incident_count: new Set(muted.map(({ incident }) => incident)).size,
      first_until: new Date(firstEndMs).toISOString(),
    },
  };
}

export function operationCountOf(healed: Counted | undefined): number {
  return Object.values(healed?.by_action ?? {}).reduce(
    (sum, { operation_count }) => sum + operation_count,
    0,
  );
}
