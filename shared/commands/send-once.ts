/** Sends a command with an Idempotency-Key once. A repetition gets what became of the first attempt. */

import { provesNoWork } from '../core/rates/no-work.ts';
import { toError } from '../runtime/errors.ts';
import type { Secret } from '../runtime/secret.ts';
import type { Telemetry } from '../runtime/telemetry.ts';
import type { CommandRequest } from './command-request.ts';
import { type CallResult, hadNoEffect } from './forward-call.ts';
import { attemptOf } from './idempotency-attempt.ts';
import type { Attempt, Claim, FirstRequest, IdempotencyStore } from './idempotency-store.ts';
import { type KeptAnswer, keptAnswer, outcomeToKeep } from './kept-answer.ts';

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
