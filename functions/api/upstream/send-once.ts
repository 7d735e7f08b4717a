/** A command with an Idempotency-Key is sent once; whoever asks again is told what became of it. */

import { createHmac } from 'node:crypto';
import { type SealOptions, seal, unseal } from '../../../shared/callers/seal.ts';
import type {
  Attempt,
  Claim,
  FirstOutcome,
  IdempotencyStore,
} from '../../../shared/commands/idempotency-store.ts';
import { toError } from '../../../shared/runtime/errors.ts';
import type { Secret } from '../../../shared/runtime/secret.ts';
import type { Telemetry } from '../../../shared/runtime/telemetry.ts';
import { Problem } from '../serving/problem.ts';
import { invalid } from '../serving/read-request.ts';
import type { ApiAnswer, ApiRequest } from '../serving/route.ts';
import { provesNoWork } from './no-work.ts';
import type { PassThroughCall } from './pass-through-call.ts';

export interface IdempotencyDeps {
  readonly idempotency: IdempotencyStore;
  readonly pepper: () => Promise<Secret>;
  readonly telemetry: Telemetry;
}

/** Longer than a request may take: whoever finds a claim that is older knows that its holder is dead. */
const RUNNING_MS_MAX = 60_000;

/** An item of the table has at most 400 kB; answers to commands have a few. */
export const BODY_CHARACTERS_MAX = 64_000;

/** Printable ASCII, as the draft's string has it; quotes around it are its notation. */
const KEY_PATTERN = /^[\x21-\x7e]{1,255}$/;

export async function sendOnce(
  deps: IdempotencyDeps,
  target: PassThroughCall,
  request: ApiRequest,
  send: () => Promise<ApiAnswer>,
): Promise<ApiAnswer> {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return send();
  const attempt = await attemptOf(deps, { key, target, request });
  const claim = await deps.idempotency.claim(attempt, RUNNING_MS_MAX);
  if (claim.kind !== 'claimed') return repeated(claim, await sealOf(deps, attempt));
  const answer = await send().catch(async (error: unknown) => {
    // A refusal of our own that is no 5xx was made before anything was sent.
    const isUnsent = error instanceof Problem && error.status < 500;
    await note(
      deps,
      request,
      isUnsent ? deps.idempotency.release(attempt) : deps.idempotency.loseTrack(attempt),
    );
    throw error;
  });
  await note(deps, request, settle(deps, { attempt, target, request, answer }));
  return answer;
}

/** Both are keyed hashes: neither the key nor a password in the body can be guessed from the table. */
async function attemptOf(
  { pepper }: IdempotencyDeps,
  { key, target, request }: { key: string; target: PassThroughCall; request: ApiRequest },
): Promise<Attempt> {
  const name = key.replace(/^"(.*)"$/, '$1');
  if (!KEY_PATTERN.test(name))
    throw invalid([
      { field: 'header.idempotency-key', reason: 'must be 1 to 255 printable ASCII characters' },
    ]);
  const secret = (await pepper()).reveal();
  const hashOf = (...parts: readonly unknown[]) =>
    createHmac('sha256', secret).update(JSON.stringify(parts)).digest('hex');
  const { caller, ids, query, body } = request;
  return {
    keyHash: hashOf('key', caller.account_id, caller.client_id, name),
    fingerprint: hashOf('request', target.id, sorted(ids), sorted(query), sorted(body ?? {})),
    holder: request.requestId,
  };
}

/** Equal requests have equal fingerprints, in whatever order their fields came. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, each]) => [name, sorted(each)]);
}

async function settle(
  deps: IdempotencyDeps,
  parts: { attempt: Attempt; target: PassThroughCall; request: ApiRequest; answer: ApiAnswer },
): Promise<void> {
  const { idempotency } = deps;
  const { attempt, target, request, answer } = parts;
  if (provesNoWork(answer.status)) return idempotency.release(attempt);
  if (answer.status >= 300) return idempotency.loseTrack(attempt);
  return idempotency.complete(attempt, {
    status: answer.status,
    content_type: answer.headers?.['content-type'],
    body: target.isSecret ? undefined : keptBody(answer, await sealOf(deps, attempt)),
    request_id: request.requestId,
  });
}

/** Of answers that nobody has declared to be secret some are: what is kept can be read only with the pepper. */
async function sealOf({ pepper }: IdempotencyDeps, { keyHash }: Attempt): Promise<SealOptions> {
  return { pepper: await pepper(), purpose: 'kept-answer', boundTo: keyHash };
}

function keptBody({ body }: ApiAnswer, sealing: SealOptions): string | undefined {
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : '';
  return text.length <= BODY_CHARACTERS_MAX ? seal(text, sealing) : undefined;
}

/** The command is done: that its outcome could not be noted only makes a repetition learn less. */
async function note(
  { telemetry }: IdempotencyDeps,
  { requestId }: ApiRequest,
  write: Promise<void>,
): Promise<void> {
  try {
    await write;
  } catch (error) {
    telemetry.log('error', 'idempotency.not_noted', { request_id: requestId, reason: toError(error).name });
  }
}

function repeated(claim: Exclude<Claim, { kind: 'claimed' }>, sealing: SealOptions): ApiAnswer {
  switch (claim.kind) {
    case 'done':
      return firstAnswer(claim.outcome, sealing);
    case 'key_reused':
      throw new Problem('key-reused', {
        detail: 'Another request was sent with this Idempotency-Key; use a new key for each command.',
      });
    case 'running':
      throw new Problem('in-progress', {
        detail: 'The first request with this Idempotency-Key has not ended yet; ask again in some seconds.',
        headers: { 'retry-after': '2' },
      });
    case 'unknown':
      throw new Problem('outcome-unknown', {
        detail:
          'The first request with this Idempotency-Key may have been carried out and is never sent again. ' +
          'Look at what it should have changed; then use a new key if it has to be repeated.',
      });
  }
}

function firstAnswer(
  { status, content_type, body: sealed, request_id }: FirstOutcome,
  sealing: SealOptions,
): ApiAnswer {
  const body = sealed === undefined ? undefined : unseal(sealed, sealing);
  if (body === undefined) {
    throw new Problem('secret-already-issued', {
      detail:
        'The first request with this Idempotency-Key succeeded, and its answer held a secret, which is not kept. ' +
        'If the answer was lost, issue a new secret with a new key and withdraw the old one.',
      headers: { 'bridge-first-request-id': request_id },
    });
  }
  return {
    status,
    headers: {
      ...(content_type !== undefined && { 'content-type': content_type }),
      'idempotency-replayed': 'true',
      'bridge-first-request-id': request_id,
    },
    ...(body !== '' && { body }),
  };
}
