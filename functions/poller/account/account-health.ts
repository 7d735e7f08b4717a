/** Publishes, once each, that events of the account will be late and that they are on time again. */

import { type DegradedReason, decideHealth } from '../../../shared/core/records/account-record.ts';
import { isJournalFull } from '../../../shared/core/records/journal.ts';
import { relayRecords } from '../../../shared/protocol/relay-records.ts';
import { unlessUnreadable } from '../../../shared/store/unreadable.ts';
import { noteAnswer } from './note-reading.ts';
import type { Run } from './run.ts';

/** After a refused key, and at the end of each invocation. */
export async function noteHealth(run: Run): Promise<void> {
  const isUndecided = run.pollCount === 0 && run.memory.failingSinceMs === undefined;
  const reason = degradedReason(run);
  if (reason !== undefined || !isUndecided) await publishHealth(run, reason);
}

/**
 * The first good answer after trouble: subscribers need not wait for the end of the invocation. Any good answer shows that the
 * key is valid; only a poll that succeeded shows that operations can be read.
 */
export async function noteGoodAnswer(run: Run, what: 'poll' | 'list'): Promise<void> {
  if (what === 'poll') noteOperationsRead(run);
  else noteAnswer(run);
  if (!run.isDegraded || degradedReason(run) !== undefined) return;
  run.isDegraded = false;
  await publishHealth(run, undefined);
}

/** The account is not failing from now on, whether or not what was read is published before the invocation ends. */
export function noteOperationsRead(run: Run): void {
  noteAnswer(run);
  run.memory.failingSinceMs = undefined;
}

async function publishHealth(run: Run, reason: DegradedReason | undefined): Promise<void> {
  const { store, clock } = run.deps;
  const record = await unlessUnreadable(store.readAccount());
  // A change that a full journal holds back is found again by the next invocation.
  if (record === undefined || isJournalFull(record)) return;
  const next = decideHealth(record, reason, clock.now());
  run.isDegraded = reason !== undefined;
  if (next === undefined) return;
  if ((await store.record(next, record.revision)) === 'recorded') await relayRecords(run.deps, [next]);
}

function degradedReason({ memory, deps }: Run): DegradedReason | undefined {
  if (memory.isKeyRejected) return 'key_rejected';
  const failingMs = memory.failingSinceMs === undefined ? 0 : deps.clock.now() - memory.failingSinceMs;
  return failingMs >= deps.limits.failingMsMax ? 'upstream_failing' : undefined;
}
