/** Decides which operations need a person, and which will probably heal. They are grouped by project and action. */

import { isOpen, type OperationRecord } from '../../../../shared/core/records/operation-record.ts';
import { MINUTE_MS } from '../../../../shared/core/time/durations.ts';
import type { HeldBack } from '../../read-model/held-back.ts';

/** These are the kinds of trouble, the gravest first. */
const TROUBLES = ['given_up', 'repeated', 'stalled', 'lasting', 'failing'] as const;

export type Trouble = (typeof TROUBLES)[number];

/** A failed attempt is usually followed by a good one. After this many, a person should look. */
const REPEATED_FAILURES = 3;

/** Most failures have recovered by then, so alerts wait as long (docs/alerts.md). */
const LASTING_MS = 5 * MINUTE_MS;

/** Returns undefined for an operation that is well, or that has recovered. */
export function troubleOf(record: OperationRecord, nowMs: number): Trouble | undefined {
  const { status, failures_count, stalled_threshold_ms } = record;
  if (status === 'error' || (record.watch_ended && status === 'failed')) return 'given_up';
  if (!isOpen(record)) return undefined;
  if (failures_count >= REPEATED_FAILURES) return 'repeated';
  if (stalled_threshold_ms !== undefined) return 'stalled';
  if (status === 'failed' && nowMs - Date.parse(record.updated_at) > LASTING_MS) return 'lasting';
  return failures_count > 0 || status === 'failed' ? 'failing' : undefined;
}

export function needsPerson(trouble: Trouble | undefined): boolean {
  return trouble !== undefined && trouble !== 'failing';
}

/** Holds the operations of one action of one project that are in trouble. */
export interface TroubleGroup {
  readonly project_id: string;
  readonly action: string;
  /** The gravest trouble of the group. */
  readonly trouble: Trouble;
  /** The operation that changed last comes first. */
  readonly operations: readonly OperationRecord[];
}

/** A trouble with what holds its alerts back. */
export type HeldTrouble = TroubleGroup & { readonly held_back: HeldBack };

/** What people do about a trouble. */
export const CONCERNS = ['needs a person', 'acknowledged', 'failing'] as const;

export type Concern = (typeof CONCERNS)[number];

/** What people do depends on these. */
export interface Concerning extends Pick<TroubleGroup, 'trouble'> {
  readonly held_back: Pick<HeldBack, 'acknowledged'>;
}

/**
 * A trouble that a person has acknowledged is in good hands. A mute holds back its alerts only, so a muted trouble
 * still needs a person.
 */
export function concernOf({ trouble, held_back }: Concerning): Concern {
  if (!needsPerson(trouble)) return 'failing';
  return held_back.acknowledged === undefined ? 'needs a person' : 'acknowledged';
}

/** Returns the group whose operation changed last first. Times are the upstream's. */
export function groupTroubles(records: readonly OperationRecord[], nowMs: number): readonly TroubleGroup[] {
  const troubled = records.flatMap((record) => {
    const trouble = troubleOf(record, nowMs);
    return trouble === undefined ? [] : [{ record, trouble }];
  });
  const groups = Map.groupBy(troubled, ({ record }) => `${record.project_id}\n${record.action}`);
  return [...groups.values()]
    .map((members) => {
      const operations = members.map(({ record }) => record).toSorted(latestFirst);
      const found = new Set(members.map(({ trouble }) => trouble));
      return { operations, trouble: TROUBLES.find((each) => found.has(each)) ?? 'failing' };
    })
    .flatMap(({ operations, trouble }) => {
      const [latest] = operations;
      return latest === undefined
        ? []
        : [{ project_id: latest.project_id, action: latest.action, trouble, operations }];
    })
    .toSorted((a, b) => latestFirst(a.operations[0], b.operations[0]));
}

function latestFirst(a: OperationRecord | undefined, b: OperationRecord | undefined): number {
  return (b?.updated_at ?? '').localeCompare(a?.updated_at ?? '');
}
