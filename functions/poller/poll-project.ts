/** One project: read the store, read the upstream, record what changed, publish it, and remember how far it got. */

import type { Journal } from '../../shared/core/journal.ts';
import { isOpen, isSettled } from '../../shared/core/operation-record.ts';
import type { ProjectActivity } from '../../shared/core/project-activity.ts';
import { settledRowsOf } from '../../shared/core/settled-rows.ts';
import { type RelayReport, relayRecords } from '../../shared/protocol/relay-records.ts';
import { settleCommands } from '../../shared/protocol/settle-commands.ts';
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
  readonly relay: RelayReport;
  /** Records with unpublished entries that others wrote: they are relayed beside the polls. */
  readonly leftoverCount: number;
}

/**
 * Open and unpublished items that one poll reads. Projects have a few; after an outage of the bus there may be thousands, and
 * then each poll reads the ones behind those of the poll before it.
 */
const PLACES_MAX = 100;

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
  const { signal } = request;
  const settledCommands = await settleCommands(deps, poll.commands, poll.records, signal);
  const pending = [...poll.records.values()].filter(isPending);
  const recorded = pending.filter((record) => !poll.readAtFirst.has(record));
  const others = [...(poll.project ? [poll.project] : []), ...poll.commands].filter(isPending);
  const relay = await relayRecords(deps, [...recorded, ...settledCommands], signal);
  keepInMind(poll, relay);
  return {
    outcome: walk.state.outcome === 'complete' ? 'complete' : 'interrupted',
    failure: walk.failure,
    recordedCount: poll.recordedCount,
    activity: poll.activity,
    relay,
    leftoverCount: pending.length - recorded.length + others.length,
  };
}

function isPending({ published, revision }: Journal): boolean {
  return published < revision;
}

/** The store is read before the upstream: what makes every later compare-and-set safe (ADR 0002). */
async function startPoll(deps: PollDeps, request: PollRequest, memory: ProjectMemory): Promise<Poll> {
  const { store, clock, options } = deps;
  const { projectId } = request;
  const [project, { places: work, next }] = await Promise.all([
    store.readProject(projectId),
    store.findWorkPage({ projectId, limit: PLACES_MAX, start: memory.nextPlaces }),
  ]);
  memory.nextPlaces = next;
  const operationIds = work.flatMap(({ operationId }) => operationId ?? []);
  const commandKeys = work.flatMap(({ key, isCommand }) => (isCommand ? key : []));
  const [records, commands] = await Promise.all([
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
    readAtFirst: new Set(records.values()),
    readIds: new Set(),
    settled: new Map(),
    newerIds: new Set(),
    recordedCount: 0,
    activity: undefined,
    unresolvedCount: 0,
  };
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
