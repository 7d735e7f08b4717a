/**
 * Answers a command that its caller wants sent later: accepts it once, waits for its end if the caller asks for that,
 * and says why a command was not accepted.
 */

import { REQUEST_BYTES_MAX } from '../../../shared/commands/queue-store.ts';
import {
  hasSettled,
  LINE_ENTRIES_MAX,
  LINE_ENTRIES_OF_CALLER_MAX,
  type QueuedCommand,
  standingOf,
} from '../../../shared/commands/queued-command.ts';
import { type CommandOutcome, type SendOnceDeps, sendOnce } from '../../../shared/commands/send-once.ts';
import type { Wakes } from '../../../shared/commands/wakes.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import { type CommandRequest, namedProjectOf } from '../../../shared/upstream/forward.ts';
import { rateLimited } from '../serving/admission.ts';
import { notFound, Problem } from '../serving/problem.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import {
  asyncWaitMs,
  deadlineMsOf,
  isReadyAwaited,
  type PatientCallers,
  prefersAsync,
  waitFor,
} from '../serving/waiting.ts';
import {
  type Acceptance,
  acceptCommand,
  type Place,
  WAITING_COMMANDS_MAX,
  WAITING_COMMANDS_OF_CALLER_MAX,
} from './accept-command.ts';
import { type AccountQueue, answerFor, commandView, type FoundCommand } from './account-queue.ts';

export interface QueueDeps extends SendOnceDeps {
  /** The key of the queue seals what waits in line and what became of it. */
  readonly queueKey: () => Promise<Secret>;
  readonly wakes: Wakes;
  readonly patient: PatientCallers;
  readonly clock: Clock;
  /** Browsers reach the console here, when that is not the address of the request. */
  readonly consoleBaseUrl: string | undefined;
}

export const COMMANDS_PATH = '/bridge/v1/commands';

/** `outcome`: the command was not accepted here, and this says what became of the first request with its key. */
type Accepted = { readonly commandId: string } | { readonly outcome: CommandOutcome };

/** Resolves to the outcome of an earlier request when its Idempotency-Key was used for one that was not queued. */
export async function queueCommand(
  deps: QueueDeps,
  queue: AccountQueue,
  command: CommandRequest,
  request: ApiRequest,
): Promise<ApiAnswer | CommandOutcome> {
  refuseSecrets(command);
  const deadlineMs = deadlineMsOf(request.headers, queue.deadlineSecondsMax);
  const waitMs = asyncWaitMs(request.headers.prefer);
  const accepted = await acceptOnce(deps, queue, command, { deadlineMs }, request);
  if ('outcome' in accepted) return accepted.outcome;
  const found = await waitFor({
    read: () => findAccepted(queue, accepted.commandId),
    isDone: isAtItsEnd,
    waitMs,
    clock: deps.clock,
    signal: request.signal,
    // The command is in line: a refusal for want of a place would make its caller send it again.
    beginWait: () => deps.patient.tryWait(request.caller, 'waits', waitMs),
  });
  return answerOf(deps, found, request);
}

/**
 * Resolves to how far a queued command is, when the first request with this Idempotency-Key was queued and its repetition
 * is not. Resolves to undefined for every other outcome.
 */
export async function answerOfQueued(
  deps: QueueDeps,
  queue: AccountQueue,
  outcome: CommandOutcome,
  request: ApiRequest,
): Promise<ApiAnswer | undefined> {
  const commandId = outcome.kind === 'replayed' ? queuedIdIn(outcome.answer.body) : undefined;
  return commandId === undefined ? undefined : answerOf(deps, await findAccepted(queue, commandId), request);
}

/** A secret that is shown once must not be kept, and without being kept it could not be asked for again. */
export function refuseSecrets({ target: { isSecret, shows } }: CommandRequest): void {
  if (!isSecret || shows === 'connection') return;
  throw new Problem('not-queueable', {
    detail:
      'The answer to this command holds a secret that is shown once, which the bridge does not keep; send it without "Prefer: respond-async".',
  });
}

/** A repetition with the same Idempotency-Key finds the command that the first request has queued. */
export async function acceptOnce(
  deps: QueueDeps,
  { store, projects }: AccountQueue,
  command: CommandRequest,
  place: Omit<Place, 'projectId' | 'beginRecord' | 'signal'>,
  { beginRecord, signal }: ApiRequest,
): Promise<Accepted> {
  const projectId = namedProjectOf(command) ?? '';
  const { wakes, queueKey, clock, telemetry } = deps;
  let acceptance: Acceptance | undefined;
  // The answer that is kept under the key names the command and holds no secret.
  const kept = { ...command, target: { ...command.target, isSecret: false } };
  const outcome = await sendOnce(deps, kept, async () => {
    const accepting = { queue: store, projects, wakes, queueKey, clock, telemetry };
    acceptance = await acceptCommand(accepting, command, { projectId, ...place, beginRecord, signal });
    return answeredWith(acceptance);
  });
  if (acceptance !== undefined) return { commandId: commandIdOf(acceptance) };
  const commandId = outcome.kind === 'replayed' ? queuedIdIn(outcome.answer.body) : undefined;
  return commandId === undefined ? { outcome } : { commandId };
}

/** A refusal frees the key, as every answer does that proves that no work was done. */
function answeredWith(acceptance: Acceptance) {
  const isAccepted = acceptance.kind === 'accepted';
  const text = isAccepted ? JSON.stringify({ queued_command_id: acceptance.command.command_id }) : '';
  const answer = { status: isAccepted ? 202 : 429, headers: {}, body: new TextEncoder().encode(text) };
  return { kind: 'answered' as const, answer };
}

/** Throws `Problem` when the command was not accepted. */
function commandIdOf(acceptance: Acceptance): string {
  if (acceptance.kind === 'accepted') return acceptance.command.command_id;
  throw refusalOf(acceptance);
}

/** Undefined when the first request with the key was sent at once, and not queued. */
function queuedIdIn(body: string): string | undefined {
  try {
    const found = (JSON.parse(body) as { queued_command_id?: unknown } | null)?.queued_command_id;
    return typeof found === 'string' ? found : undefined;
  } catch {
    return undefined;
  }
}

export async function findAccepted(queue: AccountQueue, commandId: string): Promise<FoundCommand> {
  const found = await queue.find(commandId);
  if (found === undefined) throw notFound();
  return found;
}

export function isAtItsEnd({ command, record }: FoundCommand): boolean {
  return hasSettled(standingOf(command, record));
}

/** A command that has ended by now is answered as the upstream has answered it; any other one with 202. */
export async function answerOf(
  deps: QueueDeps,
  found: FoundCommand,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const kept = isAtItsEnd(found) ? await keptAnswerOf(deps, found, request) : undefined;
  return kept ?? standingAnswer(found, 202, request);
}

/** Resolves to undefined when the upstream has not answered, or its answer is not kept any more. */
export async function keptAnswerOf(
  { queueKey, clock }: QueueDeps,
  found: FoundCommand,
  request: ApiRequest,
): Promise<ApiAnswer | undefined> {
  const { command } = found;
  const kept = answerFor(command, request.caller, await queueKey(), clock.now());
  if (kept?.body === undefined) return undefined;
  const { status, content_type, body } = kept;
  const headers = {
    ...headersOf(found, request),
    ...(content_type !== undefined && { 'content-type': content_type }),
  };
  return { status, headers, ...(body !== '' && { body }), ...aboutOf(command) };
}

/** The answer says how far the command is, and not what the upstream has answered. */
export function standingAnswer(found: FoundCommand, status: number, request: ApiRequest): ApiAnswer {
  const headers = headersOf(found, request);
  return {
    status,
    headers: { ...headers, location: headers['bridge-command'] },
    body: { command: commandView(found) },
    ...aboutOf(found.command),
  };
}

/** Names the preference of the request that the answer follows (RFC 7240, 3). */
function headersOf(found: FoundCommand, { headers: { prefer } }: ApiRequest) {
  const { command, record } = found;
  const isReady = isReadyAwaited(prefer) && standingOf(command, record).state === 'succeeded';
  const applied = prefersAsync(prefer) ? 'respond-async' : isReady ? 'wait=ready' : undefined;
  return {
    ...(applied && { 'preference-applied': applied }),
    'bridge-command': `${COMMANDS_PATH}/${command.command_id}`,
  };
}

function aboutOf({ command_id, project_id, operation_ids = [] }: QueuedCommand) {
  const command = { id: command_id, projectIds: [project_id], isQueued: true };
  return { operationIds: operation_ids, command };
}

/** In most lines the first command has left by then. */
const RETRY_AFTER_SECONDS = '30';

function refusalOf(acceptance: Exclude<Acceptance, { kind: 'accepted' }>): Problem {
  switch (acceptance.kind) {
    case 'unknown_project':
      return new Problem('not-found', {
        detail: 'The upstream has no project with this id. Nothing waits in line; look at the id.',
      });
    case 'failed': {
      const detail = 'The bridge could not look for a place in line. Nothing waits in line; ask again.';
      return new Problem('internal', { detail, cause: acceptance.cause, provesNoWork: true });
    }
    case 'no_permit':
      return rateLimited(acceptance.delayMs);
    case 'line_full':
      return full(`${LINE_ENTRIES_MAX} commands of this project wait already`);
    case 'account_full':
      return full(`${WAITING_COMMANDS_MAX} commands of this account wait already`);
    case 'line_part_full':
      return full(`${LINE_ENTRIES_OF_CALLER_MAX} commands of this caller wait for this project already`);
    case 'account_part_full':
      return full(`${WAITING_COMMANDS_OF_CALLER_MAX} commands of this caller wait already`);
    case 'too_large':
      return new Problem('body-too-large', {
        detail: `A command that waits in line may have ${REQUEST_BYTES_MAX} bytes with its query and its body.`,
      });
  }
}

function full(what: string): Problem {
  return new Problem('queue-full', {
    detail: `${what}. Wait until some of them are sent, or cancel those that are no longer needed.`,
    headers: { 'retry-after': RETRY_AFTER_SECONDS },
  });
}
