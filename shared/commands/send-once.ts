/**
 * Sends a command with an Idempotency-Key once. A repetition gets what became of the first attempt; its first answer
 * is kept sealed, because some answers contain secrets that are not shown again.
 */

import { type SealOptions, seal, unseal } from '../callers/seal.ts';
import { provesNoWork } from '../rates/retry-decision.ts';
import { toError } from '../runtime/errors.ts';
import type { Secret } from '../runtime/secret.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import {
  type CallResult,
  type CommandRequest,
  type ForwardableCall,
  type ForwardedAnswer,
  hadNoEffect,
} from '../upstream/forward.ts';
import {
  type Attempt,
  attemptOf,
  type Claim,
  type FirstOutcome,
  type FirstRequest,
  type IdempotencyStore,
} from './idempotency-store.ts';
import { withoutSecrets } from './json-text.ts';

/** This is a bound on the body, because an item of the table has at most 400 kB. Answers to commands have a few. */
export const BODY_CHARACTERS_MAX = 64_000;

interface KeptAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
  /** The first answer held secrets, which can be asked for again. This one does not have them. */
  readonly isWithheld: boolean;
}

/** Returns what is kept of the answer to a command. */
function outcomeToKeep(
  answer: ForwardedAnswer,
  { request, operationIds }: { readonly request: CommandRequest; readonly operationIds: readonly string[] },
  seals: { readonly pepper: Secret; readonly attempt: Attempt },
): FirstOutcome {
  const text = new TextDecoder().decode(answer.body);
  const shown = textToKeep(text, request.target);
  const isKept = shown !== undefined && shown.length <= BODY_CHARACTERS_MAX;
  return {
    status: answer.status,
    content_type: answer.headers['content-type'],
    body: isKept ? seal(shown, sealOptions(seals.pepper, seals.attempt)) : undefined,
    ...(isKept && shown !== text && { is_withheld: true }),
    ...firstRequestOf(request, text),
    ...(operationIds.length > 0 && { operation_ids: operationIds }),
  };
}

/**
 * The secrets of a connection can be asked for again, and are found by their names and shapes. What a call issues may be
 * any text and is shown once, so nothing of its answer is kept.
 */
function textToKeep(text: string, { isSecret, shows }: ForwardableCall): string | undefined {
  if (!isSecret) return text;
  return shows === 'connection' ? withoutSecrets(text) : undefined;
}

/** The project and the branch are those of the path, or those that the answer describes. */
function firstRequestOf({ requestId, ids }: CommandRequest, text: string): FirstRequest {
  const project_id = ids['project_id'] ?? describedIn(text, 'project');
  const branch_id = ids['branch_id'] ?? describedIn(text, 'branch');
  return {
    request_id: requestId,
    ...(project_id !== undefined && { project_id }),
    ...(branch_id !== undefined && { branch_id }),
  };
}

function describedIn(text: string, name: 'project' | 'branch'): string | undefined {
  try {
    const id: unknown = (JSON.parse(text) as Record<string, { id?: unknown } | undefined> | null)?.[name]?.id;
    return typeof id === 'string' && ID.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Such an id may stand in headers and addresses. */
const ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

/**
 * Returns undefined when no body was kept, or when it cannot be opened, because it was changed or another pepper
 * sealed it.
 */
function keptAnswer(
  { status, content_type, body, is_withheld = false }: FirstOutcome,
  pepper: Secret,
  attempt: Attempt,
): KeptAnswer | undefined {
  const text = body === undefined ? undefined : unseal(body, sealOptions(pepper, attempt));
  if (text === undefined) return undefined;
  return { status, contentType: content_type, body: text, isWithheld: is_withheld };
}

function sealOptions(pepper: Secret, { keyHash }: Attempt): SealOptions {
  return { key: pepper, purpose: 'kept-answer', boundTo: keyHash };
}

export interface SendOnceDeps {
  readonly idempotency: IdempotencyStore;
  /** This key protects the hashes and the seals of what is kept. */
  readonly pepper: () => Promise<Secret>;
  readonly telemetry: Telemetry;
}

/** This is what became of a command that was sent. */
export type Sent = CallResult & {
  /** The command started these operations. */
  readonly operationIds?: readonly string[];
  /**
   * Settles when these operations are recorded, and never rejects. The process must not end, and on Lambda must not
   * answer, before that.
   */
  readonly recorded?: Promise<void>;
  /** After a 423, these operations hold the project, as far as they are known. */
  readonly lockedBy?: readonly string[];
};

/**
 * This is what became of a command that was not sent, because its Idempotency-Key was used before or has a wrong
 * form.
 */
export type Unsent =
  | { readonly kind: 'replayed'; readonly answer: KeptAnswer; readonly first: FirstRequest }
  /** The first request succeeded, and its answer was not kept because it may hold a secret. */
  | { readonly kind: 'answer_not_kept'; readonly first: FirstRequest }
  /** Another request was sent under the key. */
  | { readonly kind: 'key_reused' }
  | { readonly kind: 'in_progress' }
  /** It is unknown whether the first request was carried out. It is never sent again under its key. */
  | { readonly kind: 'outcome_unknown' }
  | { readonly kind: 'key_malformed' };

export type CommandOutcome = Sent | Unsent;

/** This is longer than a request may take, so that the holder of an older claim is known to be dead. */
const RUNNING_MS_MAX = 60_000;

export async function sendOnce(
  deps: SendOnceDeps,
  request: CommandRequest,
  send: () => Promise<Sent>,
): Promise<CommandOutcome> {
  const { idempotencyKey } = request;
  if (idempotencyKey === undefined) return send();
  const pepper = await deps.pepper();
  const attempt = attemptOf(pepper, idempotencyKey, request);
  if (attempt === undefined) return { kind: 'key_malformed' };
  const claim = await deps.idempotency.claim(attempt, RUNNING_MS_MAX);
  if (claim.kind !== 'claimed') return repeated(claim, pepper, attempt);
  const sent = await send().catch(async (error: unknown) => {
    await note(deps, request, deps.idempotency.loseTrack(attempt));
    throw error;
  });
  await note(deps, request, keepOutcome(deps, { pepper, attempt, request, sent }));
  return sent;
}

interface Ended {
  readonly pepper: Secret;
  readonly attempt: Attempt;
  readonly request: CommandRequest;
  readonly sent: Sent;
}

async function keepOutcome(
  { idempotency }: SendOnceDeps,
  { pepper, attempt, request, sent }: Ended,
): Promise<void> {
  if (sent.kind === 'unanswered' && hadNoEffect(sent.failure)) return idempotency.release(attempt);
  if (sent.kind === 'unanswered') return idempotency.loseTrack(attempt);
  const { answer } = sent;
  if (provesNoWork(answer.status)) return idempotency.release(attempt);
  if (answer.status >= 300) return idempotency.loseTrack(attempt);
  const about = { request, operationIds: sent.operationIds ?? [] };
  return idempotency.complete(attempt, outcomeToKeep(answer, about, { pepper, attempt }));
}

/** A failure here changes nothing for the caller, whose command is done. Only a repetition learns less. */
async function note(
  { telemetry }: SendOnceDeps,
  { requestId }: CommandRequest,
  write: Promise<void>,
): Promise<void> {
  try {
    await write;
  } catch (error) {
    telemetry.log('error', 'idempotency.not_noted', { request_id: requestId, reason: toError(error).name });
  }
}

const REPEATED_KINDS = {
  running: 'in_progress',
  unknown: 'outcome_unknown',
  key_reused: 'key_reused',
} as const;

function repeated(claim: Exclude<Claim, { kind: 'claimed' }>, pepper: Secret, attempt: Attempt): Unsent {
  if (claim.kind !== 'done') return { kind: REPEATED_KINDS[claim.kind] };
  const first: FirstRequest = claim.outcome;
  const answer = keptAnswer(claim.outcome, pepper, attempt);
  return answer === undefined ? { kind: 'answer_not_kept', first } : { kind: 'replayed', answer, first };
}
