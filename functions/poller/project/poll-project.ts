/** One project: read the store, read the upstream, record what changed, publish it, and remember how far it got. */

import type { Journal } from '../../../shared/core/records/journal.ts';
import { isOpen, isSettled } from '../../../shared/core/records/operation-record.ts';
import type { WalkState } from '../../../shared/core/records/page-walk.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import { type RelayReport, relayRecords } from '../../../shared/protocol/relay-records.ts';
import { settleCommands } from '../../../shared/protocol/settle-commands.ts';
import { accountKey } from '../../../shared/store/keys.ts';
import { UnreadableItemError } from '../../../shared/store/unreadable.ts';
import type { UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import type { ProjectActivity } from '../planner/project-activity.ts';
import type { Poll, PollDeps, PollRequest, ProjectMemory } from './poll.ts';
import { readUnlisted } from './read-unlisted.ts';
import { saveProgress } from './save-progress.ts';
import { joinSettledRows, settledRowsOf } from './settled-rows.ts';
import { sweepOperations } from './sweep-operations.ts';
import { tellStalls } from './tell-stalls.ts';
import { type WalkResult, walkOperations } from './walk-operations.ts';

export interface PollReport {
  readonly outcome: 'complete' | 'interrupted';
  /** Why the upstream could not be read to the end; undefined when it could. */
  readonly failure: UpstreamErrorKind | undefined;
  readonly recordedCount: number;
  readonly activity: ProjectActivity | undefined;
  /** As it was before. */
  readonly project: ProjectRecord | undefined;
  readonly relay: RelayReport;
  /** Records with unpublished entries that others wrote: they are relayed beside the polls. */
  readonly leftoverCount: number;
}

/**
 * Open and unpublished items that one poll reads. Projects have a few; after an outage of the bus there may be thousands, and
 * then each poll reads the ones behind those of the poll before it.
 */
export const PLACES_MAX = 100;

export async function pollProject(
  deps: PollDeps,
  request: PollRequest,
  memory: ProjectMemory,
): Promise<PollReport> {
  const poll = await startPoll(deps, request, memory);
  const walk = await walkOperations(poll);
  if (wasAnswered(walk)) request.onRead?.();
  const sweep = await sweepOperations(poll, walk.state);
  if (walk.failure === undefined) await readUnlisted(poll);
  await tellStalls(poll);
  await saveProgress(poll, walk, sweep?.state);
  const { signal } = request;
  const settledCommands = await settleCommands(deps, poll.commands, poll.records, signal);
  const pending = [...poll.records.values()].filter(isPending);
  const recorded = pending.filter((record) => !poll.readAtFirst.has(record));
  const others = [...(poll.project ? [poll.project] : []), ...poll.commands].filter(isPending);
  const relay = await relayRecords(deps, [...recorded, ...settledCommands], signal);
  keepInMind(poll, relay, walk.state);
  return {
    outcome: walk.state.outcome === 'complete' ? 'complete' : 'interrupted',
    failure: walk.failure ?? rejectionOf(sweep?.failure),
    recordedCount: poll.counts.recorded,
    activity: poll.activity,
    project: poll.project,
    relay,
    leftoverCount: pending.length - recorded.length + others.length,
  };
}

/** A walk that the stop signal has cut short was answered as far as it came. */
function wasAnswered({ state, failure }: WalkResult): boolean {
  return state.pagesRead > 0 && (failure === undefined || failure === 'cancelled');
}

/** A sweep that fails delays nobody, since the walk has read what is new; only a rejected key concerns the whole account. */
function rejectionOf(failure: UpstreamErrorKind | undefined): UpstreamErrorKind | undefined {
  return failure === 'unauthorized' ? failure : undefined;
}

function isPending({ published, revision }: Journal): boolean {
  return published < revision;
}

/** The store is read before the upstream: what makes every later compare-and-set safe (ADR 0002). */
async function startPoll(deps: PollDeps, request: PollRequest, memory: ProjectMemory): Promise<Poll> {
  const { store } = deps;
  const { projectId } = request;
  const [project, { places: work, next }] = await Promise.all([
    store.readProject(projectId),
    store.findWorkPage({ projectId, limit: PLACES_MAX, start: memory.nextPlaces }),
  ]);
  memory.nextPlaces = next;
  // Without both nobody can say what is history there: it waits, rather than being announced as news.
  if (request.bootAt === undefined && project?.watermark === undefined)
    throw new UnreadableItemError({ key: accountKey(store.accountId), fields: ['boot_at'] });
  const operationIds = work.flatMap(({ operationId }) => operationId ?? []);
  const commandKeys = work.flatMap(({ key, isCommand }) => (isCommand ? key : []));
  const [{ records }, commands] = await Promise.all([
    store.readOperations(request.projectId, operationIds),
    store.readCommands(commandKeys),
  ]);
  return {
    deps,
    request,
    memory,
    project,
    commands,
    isSweeping: false,
    records,
    readAtFirst: new Set(records.values()),
    readIds: new Set(),
    settled: new Map(),
    newerIds: new Set(),
    counts: { recorded: 0, unresolved: 0 },
    activity: undefined,
    upstreamNowMs: undefined,
  };
}

/**
 * The next poll starts from what is true in the store now. Settled rows are those of the rows just walked, and those of
 * earlier polls while one walk takes several of them.
 */
function keepInMind(poll: Poll, relay: RelayReport, walk: WalkState): void {
  for (const record of relay.records) {
    if (record.kind === 'operation') poll.records.set(record.operation_id, record);
  }
  for (const [id, record] of poll.records) {
    if (poll.readIds.has(id) && isSettled(record)) poll.settled.set(id, record);
  }
  const settled = settledRowsOf(poll.settled);
  const isWhole = walk.outcome === 'complete' && !walk.isUnordered;
  poll.memory.settled = isWhole ? settled : joinSettledRows(settled, poll.memory.settled);
  for (const times of [poll.memory.readAtMs, poll.memory.missingSinceMs]) {
    for (const id of times.keys()) if (!isStillOpen(poll, id)) times.delete(id);
  }
}

function isStillOpen(poll: Poll, operationId: string): boolean {
  const record = poll.records.get(operationId);
  return record !== undefined && isOpen(record);
}
