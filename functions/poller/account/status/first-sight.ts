/** Publishes once for each account that all its projects were read for the first time, and what fails in them. */

import { awaitsFirstSight, decideFirstSight } from '../../../../shared/records/account-record.ts';
import { isJournalFull } from '../../../../shared/records/journal.ts';
import { isOpen } from '../../../../shared/records/operation-record.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { toError } from '../../../../shared/runtime/errors.ts';
import type { IndexPosition } from '../../../../shared/store/table.ts';
import { unlessUnreadable } from '../../../../shared/store/unreadable.ts';
import type { LeftoverStore } from '../relay-leftovers.ts';
import { type RecordAndRelayDeps, recordAndRelay } from '../relay-leftovers.ts';
import type { ProjectReadings } from './project-readings.ts';
import type { AccountReader } from './publish-health.ts';

/** A page of the index is read with two requests of a hundred items. */
const PAGE_KEYS = 200;

/** A person who reads "at least 2,000 operations" needs no larger number, and counting takes twenty reads. */
const COUNTED_MAX = 2_000;

export interface FirstSightDeps extends RecordAndRelayDeps {
  readonly store: RecordAndRelayDeps['store'] & AccountReader & LeftoverStore;
  readonly clock: Clock;
}

/** A subscriber can wait this long for a number, and looking costs one read of the account's item. */
const LOOK_MS = 10_000;

/** Says what this process has read until now. */
export interface ReadSoFar {
  /** It is true when this process has read the project list, and as a whole, or has taken the projects of the configuration. */
  readonly areProjectsKnown: boolean;
  readonly visibleIds: readonly string[];
  readonly readings: Pick<ProjectReadings, 'completedAtMs'>;
}

/** Looks every ten seconds, and resolves to true when there is nothing to publish any more. */
export async function publishFirstSightRepeatedly(
  deps: FirstSightDeps & { readonly signal: AbortSignal },
  readSoFar: () => ReadSoFar,
): Promise<boolean> {
  const { clock, signal, telemetry } = deps;
  while (!signal.aborted) {
    try {
      if (await publishFirstSight(deps, readSoFar())) return true;
    } catch (error) {
      telemetry.log('warn', 'first_sight.not_published', { reason: toError(error).name });
    }
    await clock.sleep(LOOK_MS, signal).catch(() => {});
  }
  return false;
}

/**
 * Resolves to true when there is nothing to publish any more, so that a warm process need not ask again. A process that
 * starts cold waits until it has read every project itself.
 */
async function publishFirstSight(
  deps: FirstSightDeps,
  { areProjectsKnown, visibleIds, readings }: ReadSoFar,
): Promise<boolean> {
  if (!areProjectsKnown) return false;
  const account = await unlessUnreadable(deps.store.readAccount());
  if (account === undefined || isJournalFull(account)) return false;
  const nowMs = deps.clock.now();
  if (!awaitsFirstSight(account, nowMs)) return true;
  if (!visibleIds.every((id) => readings.completedAtMs.has(id))) return false;
  const failing_count = await countFailing(deps);
  const counts = { project_count: visibleIds.length, failing_count };
  const next = decideFirstSight(account, counts, nowMs);
  return next === undefined || recordAndRelay(deps, next, account);
}

/** Counts the open operations that have failed, at most `COUNTED_MAX` of them. */
async function countFailing({ store }: FirstSightDeps): Promise<number> {
  let count = 0;
  let start: IndexPosition | undefined;
  do {
    const { entries, next } = await store.findWorkPage({ limit: PAGE_KEYS, start });
    const keys = entries.filter(({ operationId }) => operationId !== undefined).map(({ key }) => key);
    const records = await store.readRecords(keys);
    count += records.filter(
      (record) => record.kind === 'operation' && isOpen(record) && record.status === 'failed',
    ).length;
    start = next;
  } while (start !== undefined && count < COUNTED_MAX);
  return Math.min(count, COUNTED_MAX);
}
