/** One project: read the store, read the upstream, record what changed, publish it, and remember how far it got. */

import type { JournalRecord } from '../../shared/core/journal-record.ts';
import { isOpen, isSettled } from '../../shared/core/operation-record.ts';
import type { ProjectActivity } from '../../shared/core/project-activity.ts';
import type { ProjectRecord } from '../../shared/core/project-record.ts';
import { settledRowsOf } from '../../shared/core/settled-rows.ts';
import { type RelayReport, relayRecords } from '../../shared/protocol/relay-records.ts';
import { settleCommands } from '../../shared/protocol/settle-commands.ts';
import { accountKey } from '../../shared/store/keys.ts';
import { UnreadableItemError } from '../../shared/store/unreadable.ts';
import type { UpstreamErrorKind } from '../../shared/upstream/upstream-error.ts';
import type { Poll, PollDeps, PollRequest, ProjectMemory } from './poll.ts';
import { readUnlisted } from './read-unlisted.ts';
import { saveProgress } from './save-progress.ts';
import { tellStalls } from './tell-stalls.ts';
import { walkOperations } from './walk-operations.ts';

export interface PollReport {
  readonly outcome: 'complete' | 'interrupted';
  /** Why the upstream could not be read to the end; undefined when it could. */
  readonly failure: UpstreamErrorKind | undefined;
  readonly recordedCount: number;
  readonly activity: ProjectActivity | undefined;
  /** As it was before. */
  readonly project: ProjectRecord | undefined;
  readonly relay: RelayReport;
}

export async function pollProject(
  deps: PollDeps,
  request: PollRequest,
  memory: ProjectMemory,
): Promise<PollReport> {
  const poll = await startPoll(deps, request, memory);
  const walk = await walkOperations(poll);
  if (walk.failure === undefined) await readUnlisted(poll);
  await tellStalls(poll);
  await saveProgress(poll, walk.state);
  const settledCommands = await settleCommands(deps, poll.commands, poll.records);
  const relay = await relayRecords(deps, [...withPending(poll), ...settledCommands]);
  keepInMind(poll, relay);
  return {
    outcome: walk.state.outcome === 'complete' ? 'complete' : 'interrupted',
    failure: walk.failure,
    recordedCount: poll.recordedCount,
    activity: poll.activity,
    project: poll.project,
    relay,
  };
}

/** The store is read before the upstream: what makes every later compare-and-set safe (ADR 0002). */
async function startPoll(deps: PollDeps, request: PollRequest, memory: ProjectMemory): Promise<Poll> {
  const { store, clock, options } = deps;
  const [project, work] = await Promise.all([
    store.readProject(request.projectId),
    store.findWork(request.projectId),
  ]);
  // Without both nobody can say what is history there: it waits, rather than being announced as news.
  if (request.bootAt === undefined && project?.watermark === undefined)
    throw new UnreadableItemError({ key: accountKey(store.accountId), fields: ['boot_at'] });
  const operationIds = work.flatMap(({ operationId }) => operationId ?? []);
  const commandKeys = work.flatMap(({ key, isCommand }) => (isCommand ? key : []));
  const [{ records }, commands] = await Promise.all([
    store.readOperations(request.projectId, operationIds),
    store.readCommands(commandKeys),
  ]);
  const sinceSweepMs = clock.now() - (project?.swept_at_ms ?? 0);
  return {
    deps,
    request,
    memory,
    project,
    commands,
    isSweep: project?.watermark !== undefined && Math.abs(sinceSweepMs) >= options.sweepIntervalMs,
    records,
    readIds: new Set(),
    settled: new Map(),
    newerIds: new Set(),
    recordedCount: 0,
    activity: undefined,
    unresolvedCount: 0,
  };
}

/** Records with unpublished entries: those this poll wrote and those an earlier crash left behind. */
function withPending({ project, commands, records }: Poll): readonly JournalRecord[] {
  const own = project === undefined ? [] : [project];
  const all: readonly JournalRecord[] = [...own, ...commands, ...records.values()];
  return all.filter((record) => record.published < record.revision);
}

/** The next poll starts from what is true in the store now; entries are only those of the rows just walked. */
function keepInMind(poll: Poll, relay: RelayReport): void {
  for (const record of relay.records) {
    if (record.kind === 'operation') poll.records.set(record.operation_id, record);
  }
  for (const [id, record] of poll.records) {
    if (poll.readIds.has(id) && isSettled(record)) poll.settled.set(id, record);
  }
  poll.memory.settled = settledRowsOf(poll.settled);
  for (const times of [poll.memory.readAtMs, poll.memory.missingSinceMs]) {
    for (const id of times.keys()) if (!isStillOpen(poll, id)) times.delete(id);
  }
}

function isStillOpen(poll: Poll, operationId: string): boolean {
  const record = poll.records.get(operationId);
  return record !== undefined && isOpen(record);
}
