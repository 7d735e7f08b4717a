/**
 * Accepts a command that is sent later: writes its item, gives it its place in the line of its project, and wakes the
 * worker. No command waits in line for a project that does not exist.
 */

import { inLife } from '../../../shared/callers/seal.ts';
import {
  type QueueStore,
  type SealedParts,
  sealRequest,
  updateLine,
} from '../../../shared/commands/queue-store.ts';
import {
  APPROVALS_LINE,
  leaveLine,
  lineWith,
  type QueuedCommand,
} from '../../../shared/commands/queued-command.ts';
import type { Wakes } from '../../../shared/commands/wakes.ts';
import { isoTimeOf, MINUTE_MS } from '../../../shared/records/time.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { AppError, toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { projectKey } from '../../../shared/store/keys.ts';
import type { Table } from '../../../shared/store/table.ts';
import { operationCalls } from '../../../shared/upstream/calls/computes.ts';
import { type CommandRequest, type ForwardCallDeps, forwardCall } from '../../../shared/upstream/forward.ts';

export interface AcceptDeps {
  readonly queue: QueueStore;
  readonly projects: KnownProjects;
  readonly wakes: Wakes;
  readonly queueKey: () => Promise<Secret>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
}

export interface Place {
  readonly projectId: string;
  readonly deadlineMs: number;
  /** A person decides first, and until then the command is in the line of no project. */
  readonly awaitsApproval?: boolean;
  /** Is called before the command is written, and not when it is refused before that. */
  readonly beginRecord: () => void;
  /** Ends the request. */
  readonly signal: AbortSignal;
}

export type Acceptance =
  | { readonly kind: 'accepted'; readonly command: QueuedCommand }
  /** Nothing was accepted, because the upstream has no such project, or could not be asked now. */
  | Exclude<ProjectStanding, { kind: 'known' }>
  /** Nothing was accepted, because the table did not answer, or a secret cannot be read. */
  | { readonly kind: 'failed'; readonly cause: unknown }
  /** Nothing was accepted, because a bound is met. */
  | { readonly kind: 'line_full' | 'account_full' | 'line_part_full' | 'account_part_full' | 'too_large' };

/** Beyond this many waiting commands an account has a problem that more commands make worse. The count can lag by a moment. */
export const WAITING_COMMANDS_MAX = 1_000;

/** One caller may have this many of them, so that there is always a place for another caller. */
export const WAITING_COMMANDS_OF_CALLER_MAX = WAITING_COMMANDS_MAX / 2;

const REFUSED = { full: { kind: 'line_full' }, part_full: { kind: 'line_part_full' } } as const;

/**
 * A crash before the line is written leaves an item that is in no line: the caller got no answer, the item expires, and
 * it counts against no bound.
 * After it, the command is sent, as with any request whose answer was lost. Rejects when the table does, unless nothing was
 * written yet.
 */
export async function acceptCommand(
  deps: AcceptDeps,
  request: CommandRequest,
  place: Place,
): Promise<Acceptance> {
  const { queue } = deps;
  const found = await findPlace(deps, request, place).catch((cause: unknown) => ({
    kind: 'failed' as const,
    cause,
  }));
  if (found.kind !== 'found') return found;
  const { command, lineId } = found;
  place.beginRecord();
  await queue.addCommand(command);
  // A repetition of the SDK finds the entry of its own first write.
  const joined = await updateLine(queue, lineId, (line) => lineWith(line, command));
  if (joined === 'full' || joined === 'part_full') {
    await queue.changeCommand(leaveLine(command, { state: 'cancelled' }, deps.clock.now()));
    return REFUSED[joined];
  }
  await wake(deps, command, lineId);
  return { kind: 'accepted', command };
}

interface FoundPlace {
  readonly kind: 'found';
  readonly command: QueuedCommand;
  readonly lineId: string;
}

/** Writes nothing. Rejects when the table does, or when a secret cannot be read. */
async function findPlace(
  deps: AcceptDeps,
  request: CommandRequest,
  { projectId, deadlineMs, awaitsApproval = false, signal }: Place,
): Promise<FoundPlace | Exclude<Acceptance, { kind: 'accepted' | 'failed' }>> {
  const { queue, projects } = deps;
  const { all, ofCaller } = await queue.countWaiting(request.caller.client_id, {
    exactFrom: WAITING_COMMANDS_OF_CALLER_MAX,
    countMax: WAITING_COMMANDS_MAX,
  });
  if (all >= WAITING_COMMANDS_MAX) return { kind: 'account_full' };
  if (ofCaller >= WAITING_COMMANDS_OF_CALLER_MAX) return { kind: 'account_part_full' };
  const accepted = await queuedCommandOf(deps, request, projectId, deadlineMs);
  if (accepted === undefined) return { kind: 'too_large' };
  const command: QueuedCommand = awaitsApproval
    ? { ...accepted, state: 'awaiting_approval', approval: 'asked', request_line: requestLineOf(request) }
    : accepted;
  const lineId = awaitsApproval ? APPROVALS_LINE : projectId;
  const next = lineWith(await queue.readLine(lineId), command);
  if (next === 'full' || next === 'part_full') return REFUSED[next];
  const standing = await projects.standingOf(projectId, request, signal);
  return standing.kind === 'known' ? { kind: 'found', command, lineId } : standing;
}

/** Resolves to undefined when the request is too large to be kept. */
async function queuedCommandOf(
  { queueKey, clock }: AcceptDeps,
  request: CommandRequest,
  projectId: string,
  deadlineMs: number,
): Promise<QueuedCommand | undefined> {
  const { requestId, caller, target, ids, traceparent } = request;
  const sealed = sealRequest(partsOf(request), await queueKey(), inLife(caller.generation, requestId));
  if (sealed === undefined) return undefined;
  const nowMs = clock.now();
  return {
    account_id: caller.account_id,
    command_id: requestId,
    project_id: projectId,
    client_id: caller.client_id,
    call: target.id,
    ids: { ...ids },
    state: 'queued',
    revision: 1,
    accepted_at: isoTimeOf(nowMs),
    deadline_at_ms: nowMs + deadlineMs,
    ...(traceparent !== undefined && { traceparent }),
    request: sealed,
  };
}

/** The path is encoded as it is sent, so that a name in it cannot look like words of the bridge to the person who approves. */
function requestLineOf({ target: { call }, ids }: CommandRequest): string {
  const filled = call.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''));
  return `${call.method} ${filled}`;
}

function partsOf({ target, query, body, json }: CommandRequest): SealedParts {
  const { method, path } = target.call;
  if (method === 'GET') throw new AppError('not_a_command', `${target.id} is a read and cannot be queued`);
  return { method, path, query: { ...query }, ...(body && { body: { ...body }, json }) };
}

/** A wake that is lost costs a minute, so it does not make the request fail. */
async function wake(
  { wakes, telemetry }: AcceptDeps,
  { account_id, command_id }: QueuedCommand,
  project_id: string,
): Promise<void> {
  try {
    await wakes.send([{ account_id, project_id, id: command_id }]);
  } catch (error) {
    telemetry.log('error', 'wake.not_sent', { project_id, command_id, reason: toError(error).name });
  }
}

type ProjectStanding =
  /** The upstream has the project, or could not say whether it has. */
  | { readonly kind: 'known' }
  | { readonly kind: 'unknown_project' }
  /** The bridge does not know the project, and the caller has no permit with which the upstream could be asked. */
  | { readonly kind: 'no_permit'; readonly delayMs: number };

export interface KnownProjects {
  /** The upstream is asked with a permit of the caller. Rejects when the table does. */
  standingOf(projectId: string, request: CommandRequest, signal: AbortSignal): Promise<ProjectStanding>;
}

export interface KnownProjectsDeps extends ForwardCallDeps {
  readonly table: Table;
  readonly accountId: string;
  /** Takes a permit of the account's rate limit and resolves to 0, or takes none and says for how long there is none. */
  readonly admit: (clientId: string) => Promise<number>;
  readonly clock: Clock;
}

/**
 * A project that the upstream has is asked for once in this time. That it has none is not remembered: a replica that lags says so of a new
 * project, and each question takes a permit of its caller.
 */
export const KNOWN_MS = MINUTE_MS;

/** The names take some ten kilobytes. A project that was forgotten is asked for again, with a permit. */
const REMEMBERED_MAX = 1_000;

/** The upstream has no cheaper call that is about one project. */
const TARGET = { id: 'listOperations', call: operationCalls.listOperations, isSecret: false };

/** A record in the table says that the bridge knows the project. Only without one the upstream is asked. */
export function createKnownProjects(deps: KnownProjectsDeps): KnownProjects {
  const { table, accountId, admit, clock } = deps;
  /** The oldest answer comes first. */
  const knownUntilMs = new Map<string, number>();

  const remember = (projectId: string) => {
    knownUntilMs.delete(projectId);
    knownUntilMs.set(projectId, clock.now() + KNOWN_MS);
    const [oldest] = knownUntilMs.keys();
    if (knownUntilMs.size > REMEMBERED_MAX && oldest !== undefined) knownUntilMs.delete(oldest);
  };

  return {
    async standingOf(projectId, request, signal) {
      if ((await table.get(projectKey(accountId, projectId))) !== undefined) return { kind: 'known' };
      if (clock.now() < (knownUntilMs.get(projectId) ?? 0)) return { kind: 'known' };
      const delayMs = await admit(request.caller.client_id);
      if (delayMs > 0) return { kind: 'no_permit', delayMs };
      const status = await statusOf(deps, projectId, request, signal);
      if (status === 404) return { kind: 'unknown_project' };
      if (status !== undefined && status < 300) remember(projectId);
      return { kind: 'known' };
    },
  };
}

/** Resolves to the status of the upstream's answer, or to undefined when there was none. */
async function statusOf(
  deps: ForwardCallDeps,
  projectId: string,
  { requestId }: CommandRequest,
  signal: AbortSignal,
): Promise<number | undefined> {
  const call = {
    requestId,
    target: TARGET,
    ids: { project_id: projectId },
    query: { limit: 1 },
    body: undefined,
  };
  const result = await forwardCall(deps, call, { patienceMs: 0, signal });
  return result.kind === 'unanswered' ? undefined : result.answer.status;
}
