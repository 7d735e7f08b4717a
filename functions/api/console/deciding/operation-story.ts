/** Derives what happened to an operation, by the upstream's clock first and by ours beside it. */

import type { StateChangedEntry } from '../../../../shared/core/journal/journal-entries.ts';
import type { OperationRecord } from '../../../../shared/core/records/operation-record.ts';

/** One attempt of the operation, or several that failed between two readings. */
export interface Attempt {
  /** Attempts are counted from 1. */
  readonly first: number;
  readonly last: number;
  readonly outcome: 'failed' | 'given up' | 'ended' | 'under way';
  /** The upstream changed the operation at this time (ISO 8601). */
  readonly at: string;
  readonly error: string | undefined;
}

/** Returns when the operation got its present status, by the upstream's clock (ISO 8601). */
export function statusSince(record: OperationRecord): string {
  const changes = stateChanges(record);
  const other = changes.findLastIndex(({ status }) => status !== record.status);
  return changes[other + 1]?.operation_updated_at ?? record.updated_at;
}

/** Returns how long after the upstream's change the bridge saw it, in milliseconds. Clocks may differ. */
export function seenAfterMs({
  observed_at,
  operation_updated_at,
}: Pick<StateChangedEntry, 'observed_at' | 'operation_updated_at'>): number {
  return Math.max(0, Date.parse(observed_at) - Date.parse(operation_updated_at));
}

/** Returns the attempts that are known, oldest first. An operation that has not failed has one. */
export function attemptsOf(record: OperationRecord): readonly Attempt[] {
  const changes = stateChanges(record);
  const failed = changes
    .filter(({ new_failures }) => new_failures > 0)
    .map(({ failures_count, new_failures, operation_updated_at, error }) => ({
      first: failures_count - new_failures + 1,
      last: failures_count,
      outcome: 'failed' as const,
      at: operation_updated_at,
      error,
    }));
  const latest = changes.at(-1);
  const outcome = latest && presentOutcome(record.status);
  if (latest === undefined || outcome === undefined) return failed;
  const number = record.failures_count + 1;
  // An operation is given up because of the failures that were counted, and is not tried once more for it.
  const { operation_updated_at: at } = latest;
  // The upstream keeps naming the error of the attempt before, also when the operation has ended well.
  const error = outcome === 'given up' ? latest.error : undefined;
  const present = { first: number, last: number, outcome, at, error };
  return outcome === 'given up' && failed.length > 0 ? failed : [...failed, present];
}

function presentOutcome(status: string): Attempt['outcome'] | undefined {
  if (status === 'failed') return undefined;
  if (status === 'error') return 'given up';
  return ['finished', 'skipped', 'cancelled'].includes(status) ? 'ended' : 'under way';
}

export function stateChanges({ entries }: OperationRecord): readonly StateChangedEntry[] {
  return entries.flatMap((entry) => (entry.type === 'state_changed' ? [entry] : []));
}

/** Returns the text of the latest error that the upstream gave. */
export function latestError(record: OperationRecord): string | undefined {
  return stateChanges(record).findLast(({ error }) => error !== undefined)?.error;
}

/** Returns the address in the upstream's own console, or undefined when the pattern needs an id that the operation lacks. */
export function upstreamPageOf(record: OperationRecord, pattern: string | undefined): string | undefined {
  const ids: Readonly<Record<string, string | undefined>> = {
    project_id: record.project_id,
    operation_id: record.operation_id,
    branch_id: record.branch_id,
    endpoint_id: record.endpoint_id,
  };
  const names = [...(pattern ?? '').matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.some((name) => ids[name] === undefined)) return undefined;
  return pattern?.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(ids[name] ?? ''));
}

/** Returns the text that helps the upstream's support: the ids and the upstream's times, and no name of a person. */
export function supportText(record: OperationRecord): string {
  const error = latestError(record);
  const lines = [
    ['project', record.project_id],
    ['operation', record.operation_id],
    ['action', record.action],
    ['status', record.status],
    ['failed attempts', String(record.failures_count)],
    ['branch', record.branch_id],
    ['compute', record.endpoint_id],
    ['created at', record.created_at],
    ['updated at', record.updated_at],
    ['error', error],
  ] as const;
  const changes = stateChanges(record).map(
    ({ operation_updated_at, status, failures_count }) =>
      `  ${operation_updated_at} ${status}${failures_count > 0 ? `, ${failures_count} failed` : ''}`,
  );
  const facts = lines.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [...facts, ...(changes.length > 0 ? ['history (times of the upstream):', ...changes] : [])].join(
    '\n',
  );
}
