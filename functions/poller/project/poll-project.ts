/**
 * Polls one project: reads the store, reads the upstream, records what changed, publishes it, and remembers how far
 * it got.
 */

import type { Journal } from '../../../shared/core/journal/journal.ts';
import type { CommandRecord } from '../../../shared/core/records/command-record.ts';
import type { ProjectRecord } from '../../../shared/core/records/project-record.ts';
import { type RelayDeps, type RelayReport, relayRecords } from '../../../shared/protocol/relay-records.ts';
import { type SettleDeps, settleCommands } from '../../../shared/protocol/settle-commands.ts';
import type { UpstreamErrorKind } from '../../../shared/upstream/upstream-error.ts';
import type { ProjectActivity } from '../planner/activity/project-activity.ts';
import type { ProjectMemory } from './memory/project-memory.ts';
import type { PollDeps, PollRequest } from './poll-deps.ts';
import { endPoll, type PollStart, startPoll } from './quiet-poll.ts';
import { readNewCommands, type StoredProject, type StoredReader } from './read-stored.ts';
import { endedOperations } from './recording/ended-operations.ts';
import { createOperationRecorder, type OperationRecorder } from './recording/operation-recorder.ts';
import { createPageRecorder } from './recording/page-recorder.ts';
import { readUnlisted } from './recording/read-unlisted.ts';
import type { Observer } from './recording/reading-context.ts';
import { recordStalls } from './recording/record-stalls.ts';
import { createRowRecorder } from './recording/row-recorder.ts';
import { createSightings } from './recording/sightings.ts';
import { rememberPoll } from './remember-poll.ts';
import { saveProgress } from './save-progress.ts';
import { fetchPage } from './walking/fetch-page.ts';
import type { PageSteps, PagesResult } from './walking/follow-pages.ts';
import { sweepOperations } from './walking/sweep-operations.ts';
import { walkOperations } from './walking/walk-operations.ts';

export interface PollReport {
  readonly outcome: 'complete' | 'interrupted';
  /** Says why the upstream could not be read to the end. It is undefined when it could. */
  readonly failure: UpstreamErrorKind | undefined;
  /** This poll has recorded this many transitions. */
  readonly recordedCount: number;
  /** The newest page says how soon to come back. It is undefined when none was read. */
  readonly activity: ProjectActivity | undefined;
  /** This record was stored before the poll. */
  readonly project: ProjectRecord | undefined;
  readonly relay: RelayReport;
  /** This many records have unpublished entries that others wrote. They are relayed beside the polls. */
  readonly leftoverCount: number;
}

export async function pollProject(
  pollDeps: PollDeps,
  request: PollRequest,
  memory: ProjectMemory,
): Promise<PollReport> {
  const { projectId, bootAt, signal } = request;
  const deps = { ...pollDeps, signal };
  const start = await startPoll(deps.store, request, memory, deps.clock.now());
  const { project, operations } = start.stored;
  const sightings = createSightings(deps.clock, memory, project?.watermark);
  const commands = commandsOf(deps.store, projectId, start);
  const subject = { project, commands: commands.known, bootAt, startedWith: sightings.startedWith };
  const recorder = createOperationRecorder(deps, operations, subject);
  const { records } = recorder;
  const listed = { projectId, project, records, memory, onUnread: commands.readIfQuiet };
  const stepsOf = (observedBy: Observer): PageSteps => {
    const rowRecorder = createRowRecorder(deps, recorder, observedBy);
    return {
      fetch: (wanted) => fetchPage(deps, request, wanted),
      record: createPageRecorder(deps, listed, rowRecorder, sightings),
    };
  };
  const walked = { projectId, project, bootAt, records };
  const walk = await walkOperations(deps, walked, memory, stepsOf('poll'));
  if (wasAnswered(walk)) request.onRead?.();
  const swept = { projectId, project, walk: walk.state };
  const sweep = await sweepOperations(deps, swept, memory, stepsOf('sweep'));
  if (walk.failure === undefined) await readUnlisted(deps, recorder, sightings);
  await recordStalls(deps, recorder, sightings);
  const newerRowCount = sightings.newerRowCount();
  const history = request.history ?? walk.activity;
  const ended = walk.state.isUnordered ? endedOperations(records, sightings) : [];
  const recordedCount = recorder.transitionCount();
  const polled = {
    projectId,
    project,
    walk,
    sweep: sweep?.state,
    newerRowCount,
    recordedCount,
    history,
    ended,
  };
  const hasProgress = await saveProgress(deps, polled, memory);
  const known = { project, commands: commands.known, operations };
  const { relay, leftoverCount } = await publishRecorded(deps, known, recorder);
  rememberPoll(memory, records, sightings, walk.state);
  const hasWritten = recordedCount > 0 || hasProgress || sweep !== undefined;
  const unfinishedCount = relay.unpublishedCount + leftoverCount + commands.known.length;
  endPoll(memory, start, { walk, hasWritten, records: [...records.values()], unfinishedCount });
  return { ...howEnded(walk, sweep), recordedCount, activity: walk.activity, project, relay, leftoverCount };
}

function howEnded(
  { state, failure }: PagesResult,
  sweep: PagesResult | undefined,
): Pick<PollReport, 'outcome' | 'failure'> {
  const outcome = state.outcome === 'complete' ? 'complete' : 'interrupted';
  return { outcome, failure: failure ?? rejectionOf(sweep?.failure) };
}

/**
 * Gives the poll the commands of its project. Those of a quiet project are read once the list shows something new: one
 * of them may have started it.
 */
function commandsOf(
  store: StoredReader,
  projectId: string,
  { stored, quiet }: PollStart,
): { readonly known: readonly CommandRecord[]; readonly readIfQuiet: () => Promise<void> } {
  const known = [...stored.commands];
  let isRead = quiet === undefined;
  return {
    known,
    async readIfQuiet() {
      if (isRead) return;
      isRead = true;
      known.push(...(await readNewCommands(store, projectId)));
    },
  };
}

/** A walk that the stop signal has interrupted was answered as far as it came. */
function wasAnswered({ state, failure }: PagesResult): boolean {
  return state.pagesRead > 0 && (failure === undefined || failure === 'cancelled');
}

/**
 * A sweep that fails delays nothing, since the walk has read what is new. Only a rejected key concerns the whole
 * account.
 */
function rejectionOf(failure: UpstreamErrorKind | undefined): UpstreamErrorKind | undefined {
  return failure === 'unauthorized' ? failure : undefined;
}

interface Published {
  readonly relay: RelayReport;
  readonly leftoverCount: number;
}

/** Publishes what this poll has recorded, and settles the commands whose operations have ended by now. */
async function publishRecorded(
  deps: SettleDeps & RelayDeps & Pick<PollRequest, 'signal'>,
  stored: Pick<StoredProject, 'project' | 'commands' | 'operations'>,
  recorder: OperationRecorder,
): Promise<Published> {
  const { project, commands, operations } = stored;
  const { signal } = deps;
  const settledCommands = await settleCommands(deps, commands, recorder.records, signal);
  const pending = [...recorder.records.values()].filter(isPending);
  const recorded = pending.filter((record) => operations.get(record.operation_id) !== record);
  const others = [...(project ? [project] : []), ...commands].filter(isPending);
  const around = [...recorder.records.values()];
  // The first walk of a project shows how late the bridge came, and not how soon it publishes a change.
  const relayDeps = project?.watermark === undefined ? { ...deps, onPublished: undefined } : deps;
  const relay = await relayRecords(relayDeps, [...recorded, ...settledCommands], signal, around);
  for (const record of relay.records) if (record.kind === 'operation') recorder.note(record);
  return { relay, leftoverCount: pending.length - recorded.length + others.length };
}

function isPending({ published, revision }: Journal): boolean {
  return published < revision;
}
